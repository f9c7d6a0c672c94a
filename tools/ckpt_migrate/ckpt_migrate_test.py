"""ckpt_migrate as a process: what it prints, its exit codes, and kills at any moment.

The kills are random; the seed is printed, and REPRISE_SEED=<seed> replays them:
    bazel test //tools/ckpt_migrate:ckpt_migrate_test --test_env=REPRISE_SEED=<seed>
"""

import ctypes
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

MIGRATE = os.path.abspath('tools/ckpt_migrate/ckpt_migrate')
MAKE_RUN = 'tools/ckpt_migrate/testing/make_run'
RELEASED = 'spec/vectors/released/v1'
REFUSED = 'refused-optimizer-steps-disagree'


def content(folder):
    """Relative path -> bytes of every file, but for texts of locks."""
    files = {}
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            if os.path.islink(file) or name == 'lock':
                continue
            with open(file, 'rb') as opened:
                files[os.path.relpath(file, folder)] = opened.read()
    return files


class CkptMigrateTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make_run(self, name, major, checkpoints=2, size=0):
        subprocess.run([MAKE_RUN, self.path(name), str(major), str(checkpoints), str(size)],
                       check=True)
        return self.path(name)

    def migrate(self, *words, code=0, here=None):
        environment = {k: v for k, v in os.environ.items() if k != 'BUILD_WORKING_DIRECTORY'}
        if here is not None:
            environment['BUILD_WORKING_DIRECTORY'] = here
        done = subprocess.run([MIGRATE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding='utf-8', env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refuse(self, *words, code, text):
        """It says why, and changes nothing."""
        before = content(self.folder), sorted(os.listdir(self.folder))
        done = self.migrate(*words, code=code)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, '')
        self.assertEqual((content(self.folder), sorted(os.listdir(self.folder))), before)
        return done

    # Rules: MIG-1 MIG-2 EXIT-1
    def test_every_released_checkpoint_is_migrated_and_the_one_to_refuse_is_refused(self):
        corpus = self.path('corpus')
        shutil.copytree(RELEASED, corpus)
        entries = sorted(e for e in os.listdir(corpus) if e != 'SHA256SUMS')
        self.assertGreaterEqual(len(entries), 11)
        for entry in entries:
            with self.subTest(entry):
                source = os.path.join(corpus, entry)
                before = content(source)
                if entry == REFUSED:
                    self.refuse(source, '--out=' + self.path(entry), code=11, text='optim.step')
                    continue
                self.migrate(source, '--out=' + self.path(entry))
                self.assertEqual(content(source), before)
                folder, = glob.glob(self.path(entry, 'step-*'))
                self.assertIn('shard-0000-0000.bin', os.listdir(folder))
                # What the trainer recorded beside it went along.
                self.assertEqual(len(glob.glob(self.path(entry, '*.record.txt'))), 4)
                # It is what was asked for now.
                done = self.migrate(self.path(entry))
                self.assertIn('Nothing to do', done.stdout)

    def test_report_says_what_was_done_what_is_unknown_and_what_is_missing(self):
        run = self.make_run('run', 1, 3)
        done = self.migrate(run)
        for text in ('3 checkpoints', 'step-000000000030  v1 -> v2', 'v1 -> v2 did this',
                     'counters.applied', 'not recorded by v1: model.ties',
                     'Missing for an exact resume', 'ema.weights',
                     'the digest of each is the same before and after',
                     'read back and compared', 'Done: ' + run + '.v2'):
            self.assertIn(text, done.stdout)
        self.assertEqual(done.stderr, '')
        self.assertLessEqual(max(map(len, done.stdout.replace(self.folder, '').splitlines())), 80)
        self.assertIn('Done before', self.migrate(run).stdout)

    def test_dry_run_writes_nothing_and_explain_gives_reasons(self):
        run = self.make_run('run', 1)
        before = content(self.folder)
        done = self.migrate(run, '--dry_run', '--explain')
        self.assertIn('clip: not recorded by v1 but in the configuration', done.stdout)
        self.assertIn('Dry run: nothing was written', done.stdout)
        self.assertEqual(content(self.folder), before)
        self.assertEqual(os.listdir(self.folder), ['run'])

    def test_json_has_the_schema_that_is_documented(self):
        run = self.make_run('run', 1)
        report = json.loads(self.migrate(run, '--json').stdout)
        self.assertEqual(report['outcome'], 'MIGRATED')
        self.assertEqual(report['out'], run + '.v2')
        self.assertEqual([c['name'] for c in report['checkpoints']],
                         ['step-000000000010', 'step-000000000020'])
        checkpoint = report['checkpoints'][0]
        self.assertEqual((checkpoint['fromMajor'], checkpoint['toMajor']), (1, 2))
        self.assertEqual(len(checkpoint['manifestDigest']), 32)
        self.assertIn('ema.weights', [l['item'] for l in checkpoint['lacking']])
        self.assertEqual(json.loads(self.migrate(run, '--json').stdout)['outcome'],
                         'WAS_DONE_BEFORE')
        done = self.migrate(self.path('nowhere'), '--json', code=2)
        report = json.loads(done.stdout)
        self.assertEqual((report['outcome'], report['refusal'], report['exitCode']),
                         ('FAILED', 'ABSENT', 2))

    # Rules: MIG-10 SHARE-1
    def test_rename_by_a_file_of_rules_links_the_tensors(self):
        run = self.make_run('run', 2)
        with open(self.path('rules'), 'w', encoding='utf-8') as file:
            file.write('# the head\n^fc\\. -> head_of.\n^embed\\. -> zz.embed.\n')
        done = self.migrate(run, '--rename=' + self.path('rules'))
        self.assertIn('v2 renamed', done.stdout)
        self.assertIn('shares storage', done.stdout)
        shard = os.path.join('step-000000000010', 'shard-0000-0000.bin')
        self.assertTrue(os.path.samefile(os.path.join(run, shard),
                                         self.path('run.renamed', shard)))
        # Another rule, of another kind of place, to names as they were.
        done = self.migrate(self.path('run.renamed'), '--rename=^(head_of|zz\\.embed)\\. -> \\1_x.',
                            '--out=' + self.path('copied'), '--copy')
        self.assertFalse(os.path.samefile(os.path.join(run, shard), self.path('copied', shard)))

    def test_paths_are_those_of_the_person(self):
        self.make_run('run', 1)
        self.migrate('run', '--out=new', here=self.folder)
        self.assertTrue(os.path.isdir(self.path('new', 'step-000000000010')))
        self.migrate('.', '--out=../from_inside', here=self.path('run'))
        self.assertTrue(os.path.isdir(self.path('from_inside', 'step-000000000010')))
        with open(self.path('rules'), 'w', encoding='utf-8') as file:
            file.write('^fc\\. -> head_of.\n')
        self.migrate('new', '--rename=rules', '--out=renamed', here=self.folder)

    def test_one_checkpoint(self):
        run = self.make_run('run', 1, 3)
        self.migrate(os.path.join(run, 'step-000000000020'))
        self.assertEqual([n for n in os.listdir(run + '.v2') if n.startswith('step-')],
                         ['step-000000000020'])

    # Rules: EXIT-1
    def test_usage_is_code_1_and_help_is_not(self):
        run = self.make_run('run', 1)
        self.refuse(code=1, text='usage: ckpt_migrate')
        self.refuse(run, run, code=1, text='found 2')
        self.refuse(run, '--nonsense', code=1, text='unknown flag --nonsense')
        self.refuse(run, '--to=two', code=1, text='--to: expected a version')
        self.refuse(run, '--to', code=1, text='wants a value')
        self.assertIn('--rename=RULES', self.migrate('--help').stdout)

    # Rules: MIG-11 EXIT-1
    def test_bad_requests_are_code_2(self):
        run = self.make_run('run', 2)
        self.refuse(self.path('nowhere'), code=2, text='ABSENT')
        os.mkdir(self.path('empty'))
        self.refuse(self.path('empty'), code=2, text='an empty folder')
        self.refuse(run, '--to=v3', code=2, text='this program knows up to v2')
        self.refuse(run, '--to=v1', code=2, text='v2 and later')
        self.refuse(run, '--out=' + run, code=2, text='never in place')
        self.refuse(run, '--rename=^gone -> x', code=2, text='renames nothing')
        self.refuse(run, '--rename=^fc.bias -> fc.weight', code=2, text='both be called fc.weight')
        self.refuse(run, '--rename=( -> x', code=2, text='no RE2 pattern')
        self.refuse(run, '--rename=' + self.path('no_rules'), code=2, text='--rename: open')
        os.mkdir(self.path('taken'))
        with open(self.path('taken', 'file'), 'w', encoding='utf-8') as file:
            file.write('mine')
        self.refuse(run, '--rename=^fc\\. -> head_of.', '--out=' + self.path('taken'), code=2,
                    text='is not this migration')

    # Rules: EXIT-1
    def test_rejected_checkpoints_are_code_11_and_named(self):
        run = self.make_run('run', 1)
        manifest = os.path.join(run, 'step-000000000020', 'manifest.ckpt')
        with open(manifest, 'rb') as file:
            whole = file.read()

        def become(data):
            os.chmod(manifest, 0o644)
            with open(manifest, 'wb') as file:
                file.write(data)

        for data, text in ((whole[:-1], 'TRUNCATED'), (whole[:100] + b'?' + whole[101:], 'CORRUPT'),
                           (b'PK\x03\x04' + bytes(200), 'NOT_A_CHECKPOINT'), (b'', 'TRUNCATED'),
                           (whole[:12] + b'\x09' + whole[13:], 'CORRUPT')):
            become(data)
            done = self.refuse(run, code=11, text=text)
            self.assertIn('step-000000000020', done.stderr)
        become(whole)
        with open(self.path('weights.pt'), 'wb') as file:
            file.write(b'PK\x03\x04' + bytes(200))
        self.refuse(self.path('weights.pt'), code=11, text='zip')
        with open(os.path.join(run, 'manifest.ckpt'), 'wb') as file:
            file.write(whole)
        self.refuse(run, code=11, text='both a checkpoint')

    def test_without_permission_it_says_so_and_changes_nothing(self):
        run = self.make_run('run', 1)
        before = content(run)

        def as_somebody(*words):
            def see_no_more_than_modes_say():
                cap_dac_override, cap_dac_read_search, pr_capbset_drop = 1, 2, 24
                for capability in (cap_dac_override, cap_dac_read_search):
                    ctypes.CDLL(None).prctl(pr_capbset_drop, capability, 0, 0, 0)

            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding='utf-8', check=False,
                                  preexec_fn=see_no_more_than_modes_say)

        os.chmod(run, 0)
        try:
            if as_somebody('ls', run).returncode == 0:
                self.skipTest('root sees everything here, and cannot help it')
            done = as_somebody(MIGRATE, run, '--out=' + self.path('new'))
        finally:
            os.chmod(run, 0o755)
        self.assertEqual(done.returncode, 11, done.stdout + done.stderr)
        self.assertIn('ermission denied', done.stderr)
        os.mkdir(self.path('closed'))
        os.chmod(self.path('closed'), 0o500)
        done = as_somebody(MIGRATE, run, '--out=' + self.path('closed', 'new'))
        self.assertEqual(done.returncode, 14, done.stdout + done.stderr)
        self.assertIn('ermission denied', done.stderr)
        self.assertEqual(content(run), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ['closed', 'run'])
        self.assertEqual(os.listdir(self.path('closed')), [])

    # Rules: MIG-1
    def test_killed_at_any_moment_it_goes_on_and_gives_the_same(self):
        seed = int(os.environ.get('REPRISE_SEED') or random.SystemRandom().randrange(1 << 32))
        print('REPRISE_SEED=%d' % seed)
        generator = random.Random(seed)
        run = self.make_run('run', 1, 4, 3 << 20)
        before = content(run)
        start = time.monotonic()
        self.migrate(run, '--out=' + self.path('whole'))
        took = time.monotonic() - start
        expected = content(self.path('whole'))
        killed = left = 0
        for number in range(12):
            out = self.path('out%d' % number)
            for _ in range(20):
                process = subprocess.Popen([MIGRATE, run, '--out=' + out],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(generator.uniform(0, took))
                process.send_signal(signal.SIGKILL)
                if process.wait() == 0:
                    break
                killed += 1
                left += os.path.exists(self.path('.tmp-migrate-out%d' % number))
                if os.path.exists(out):
                    # Killed after the rename: then all of it is there.
                    self.assertEqual(content(out), expected)
                    break
            self.migrate(run, '--out=' + out)
            self.assertEqual(content(out), expected)
            self.assertFalse(os.path.exists(self.path('.tmp-migrate-out%d' % number)))
        self.assertEqual(content(run), before)
        print('%d kills, %d of them left something to go on with' % (killed, left))
        self.assertGreater(left, 3)


if __name__ == '__main__':
    unittest.main()
