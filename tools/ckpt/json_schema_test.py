"""What the verbs print with --json against the schemas that document it (report.proto of both tools).

Each output is read by protobuf's own JSON parser into the message that the help of the verb names: a field
that the schema does not have fails, and so does a value of another type.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

CKPT = 'tools/ckpt/ckpt'
MIGRATE = 'tools/ckpt_migrate/ckpt_migrate'
MAKE_RUN = 'tools/ckpt/make_run'
SEED_EXAMPLE = 'format/interop/fixtures/seed_example.pt'
SCHEMAS = ['tools/ckpt/report_proto-descriptor-set.proto.bin',
           'tools/ckpt_migrate/report_proto-descriptor-set.proto.bin']
REJECTED = 11


def message_classes():
    """Full name -> class."""
    pool = descriptor_pool.DescriptorPool()
    names = []
    for path in SCHEMAS:
        files = descriptor_pb2.FileDescriptorSet()
        with open(path, 'rb') as file:
            files.ParseFromString(file.read())
        for schema in files.file:
            pool.Add(schema)
            names += ['%s.%s' % (schema.package, message.name) for message in schema.message_type]
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(name)) for name in names}


class JsonSchemaTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_folder = self.path('run')
        subprocess.run([MAKE_RUN, self.run_folder, '2', '10', '20', '30'], check=True)
        subprocess.run([MAKE_RUN, self.path('old'), '1', '10'], check=True)
        self.classes = message_classes()

    def path(self, name):
        return os.path.join(self.folder, name)

    def printed(self, *command, code=0):
        environment = {k: v for k, v in os.environ.items() if k != 'BUILD_WORKING_DIRECTORY'}
        done = subprocess.run([*command, '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding='utf-8', env=environment, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def parse(self, text, name):
        message = json_format.Parse(text, self.classes[name]())
        # Nothing was dropped on the way, and something is there.
        self.assertEqual(json.loads(json_format.MessageToJson(message)), json.loads(text))
        self.assertTrue(json.loads(text))
        return message

    def test_every_verb_prints_the_message_that_its_help_names(self):
        first = os.path.join(self.run_folder, 'step-%012d' % 10)
        commands = {
            'ls': [['ls', self.run_folder], ['ls', self.run_folder, '--verify']],
            'show': [['show', self.run_folder, '--tensors'],
                     ['show', self.run_folder, '--tensor=fc.weight'], ['show', self.path('old')]],
            'verify': [['verify', self.run_folder]],
            'diff': [['diff', first, self.run_folder], ['diff', first, first]],
            'missing': [['missing', self.run_folder]],
            'repair': [['repair', self.run_folder, '--dry_run'], ['repair', self.run_folder]],
            'export': [['export', self.run_folder, '--out', self.path('a.pt')]],
            'import': [['import', os.path.realpath(SEED_EXAMPLE), '--out', self.path('new')]],
            'prune': [['prune', self.run_folder, '--keep_last=1', '--dry_run'],
                      ['prune', self.run_folder, '--keep_last=1']],
        }
        told = subprocess.run([CKPT, '--help'], stdout=subprocess.PIPE, encoding='utf-8', check=True).stdout
        verbs = [line.split()[0] for line in told.splitlines() if line.startswith('  ')]
        self.assertEqual(sorted(verbs), sorted(commands))
        for verb, cases in commands.items():
            text = subprocess.run([CKPT, verb, '--help'], stdout=subprocess.PIPE, encoding='utf-8',
                                  check=True).stdout
            name = re.search(r'\((\w+Report)\)', text).group(1)
            for case in cases:
                with self.subTest(case):
                    self.parse(self.printed(CKPT, *case), 'reprise.ckpt.' + name)

    def test_failures_end_with_an_error_report(self):
        shard = os.path.join(self.run_folder, 'step-%012d' % 20, 'shard-0000-0000.bin')
        os.chmod(shard, 0o644)
        with open(shard, 'r+b') as file:
            file.write(b'????')
        for words, name in ((['verify', self.run_folder], 'VerifyReport'),
                            (['ls', self.run_folder, '--verify'], 'ListReport'),
                            (['missing', self.path('old'), '--for=bitwise'], 'MissingReport')):
            with self.subTest(words):
                report, error = self.printed(CKPT, *words, code=REJECTED).split('\n{', 1)
                self.parse(report, 'reprise.ckpt.' + name)
                error = self.parse('{' + error, 'reprise.ckpt.ErrorReport')
                self.assertEqual(error.exit_code, REJECTED)
        error = self.parse(self.printed(CKPT, 'show', self.path('gone'), code=2), 'reprise.ckpt.ErrorReport')
        self.assertEqual((error.refusal, error.exit_code), ('ABSENT', 2))

    def test_migration_prints_its_report_whatever_comes_of_it(self):
        name = 'reprise.ckpt_migrate.Report'
        outcomes = []
        for words, code in (([self.path('old'), '--dry_run'], 0), ([self.path('old')], 0),
                            ([self.path('old')], 0), ([self.run_folder], 0), ([self.path('gone')], 2)):
            outcomes.append(self.parse(self.printed(MIGRATE, *words, code=code), name).outcome)
        self.assertEqual(outcomes, ['PLANNED', 'MIGRATED', 'WAS_DONE_BEFORE', 'NOTHING_TO_DO', 'FAILED'])

    def test_what_the_schema_does_not_have_is_seen(self):
        for text in ('{"runs": "x"}', '{"run": 1}'):
            with self.assertRaises(json_format.ParseError):
                self.parse(text, 'reprise.ckpt.ListReport')


if __name__ == '__main__':
    unittest.main()
