"""The real trainer continues every released checkpoint as it was recorded.

To the last bit where the kernels are the record's (equal kernel probe); on other
kernels by what does not depend on them, and the loss within a tolerance. Each
line of the output says which.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import continuation as c

RELEASED = 'spec/vectors/released'
VERSIONS = ['v1', 'v2']
# A copy of it, made at the start: the files here are symbolic links, which
# readers of checkpoints refuse.
CORPUS = os.path.join(os.environ.get('TEST_TMPDIR', '/tmp'), 'corpus')
REFUSED = 'v1/refused-optimizer-steps-disagree'


def entries(versions=VERSIONS):
    """Names of entries with their version, e.g. v1/adamw-bf16-mid-epoch."""
    return ['%s/%s' % (version, name) for version in versions
            for name in sorted(os.listdir(os.path.join(CORPUS, version)))
            if os.path.isdir(os.path.join(CORPUS, version, name)) and
            not name.startswith('refused-')]


def checkpoint_of(name):
    folder = os.path.join(CORPUS, name)
    return os.path.join(folder, c.checkpoints(folder)[0])


def record_of(name, capability, threads):
    return c.Record.read(os.path.join(
        CORPUS, name, '%s-threads-%d%s' % (capability, threads, c.RECORD_SUFFIX)))


class CorpusTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        for version in VERSIONS:
            shutil.copytree(os.path.join(RELEASED, version), os.path.join(CORPUS, version))
        cls.work = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        cls.runs = {}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)
        shutil.rmtree(CORPUS)

    def run_of(self, name, capability):
        """Record and last checkpoint of a continuation with one thread, made once."""
        if (name, capability) not in self.runs:
            self.runs[name, capability] = c.continue_from(
                checkpoint_of(name), os.path.join(self.work, name.replace('/', '-') + '-' + capability), 1,
                capability)
        return self.runs[name, capability]

    # Another order within the step gives other losses, rates or scales.
    # Rules: STEP-1
    def test_C37_every_released_checkpoint_goes_on_as_recorded(self):
        self.assertGreaterEqual(len(entries(['v1'])), 8)
        self.assertGreaterEqual(len(entries(['v2'])), 15)
        for name in entries():
            precision = c.describe(checkpoint_of(name))['environment.autocast_dtype']
            for capability in c.CAPABILITIES:
                with self.subTest(entry=name, capability=capability):
                    reason = c.missing_instructions(capability)
                    if reason:
                        print('%s, %s: not run, %s' % (name, capability, reason))
                        continue
                    found, _ = self.run_of(name, capability)
                    self.expect_recorded(name, capability, precision, found)

    def expect_recorded(self, name, capability, precision, found):
        record = record_of(name, capability, 1)
        self.assertEqual(len(record.rows), c.STEPS)
        self.assertEqual(found.threads, 1)
        if found.kernel_probe == record.kernel_probe:
            print('%s, %s: the record\'s kernels, every bit compared' % (name, capability))
            self.assertEqual(c.differences(record, found), [])
        else:
            tolerance = c.loss_tolerance(name, precision)
            print('%s, %s: other kernels, losses compared within %g' %
                  (name, capability, tolerance))
            self.assertEqual(c.differences(record, found, tolerance), [])

    def test_every_migrated_checkpoint_is_trained_on_as_the_one_that_is_migrated_in_memory(self):
        for name in entries(['v1']):
            with self.subTest(name):
                new = os.path.join(self.work, name.replace('/', '-') + '-migrated')
                migrated = subprocess.run(
                    ['tools/ckpt_migrate/ckpt_migrate', checkpoint_of(name), '--out=' + new, '--json'],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8')
                self.assertEqual(migrated.returncode, 0, migrated.stderr)
                checkpoint = os.path.join(new, c.checkpoints(new)[0])
                self.assertEqual(c.describe(checkpoint)['format.major'], '2')
                in_memory, in_memory_end = self.run_of(name, 'default')
                found, end = c.continue_from(checkpoint, new + '-continued', 1, 'default')
                self.assertEqual(c.differences(in_memory, found), [])
                # Not the losses alone: every item and tensor of the state at the end.
                compared = subprocess.run(['tools/ckpt/ckpt', 'diff', in_memory_end, end, '--json'],
                                          stdout=subprocess.PIPE, encoding='utf-8')
                self.assertTrue(json.loads(compared.stdout).get('same'), compared.stdout)

    def test_command_that_makes_the_migration_of_version_1_permanent_is_printed(self):
        checkpoint = checkpoint_of('v1/sgd-fp32-without-momentum')
        run_dir = os.path.join(self.work, 'told')
        shutil.copytree(checkpoint, os.path.join(run_dir, os.path.basename(checkpoint)))
        flags = ['--threads=1', '--save_every=1000000']
        command = 'bazel run //tools:ckpt_migrate -- ' + run_dir
        self.assertIn(command, c.run_trainer(run_dir, flags, 'default'))
        # What the trainer wrote itself needs none.
        self.assertNotIn(command, c.run_trainer(run_dir, flags, 'default'))

    def test_command_that_is_printed_does_make_the_migration_permanent(self):
        checkpoint = checkpoint_of('v1/sgd-fp32-without-momentum')
        for folder in ('in-place', 'elsewhere'):
            with self.subTest(folder):
                run_dir = os.path.join(self.work, 'told-' + folder)
                source = run_dir if folder == 'in-place' else run_dir + '-source'
                place = os.path.join(source, os.path.basename(checkpoint))
                flags = [] if folder == 'in-place' else ['--resume=' + place]
                shutil.copytree(checkpoint, place)
                log = c.run_trainer(run_dir, flags + ['--threads=1', '--save_every=1000000'],
                                    'default')
                told = re.search('to make that permanent: bazel run //tools:ckpt_migrate -- (.*)',
                                 log).group(1)
                new = os.path.join(self.work, 'permanent-' + folder)
                subprocess.run(['tools/ckpt_migrate/ckpt_migrate', told, '--out=' + new],
                               stdout=subprocess.DEVNULL, check=True)
                migrated = os.path.join(new, os.path.basename(checkpoint))
                if not os.path.isdir(migrated):
                    migrated = new
                self.assertEqual(c.describe(migrated)['format.major'], '2')
                again = c.run_trainer(run_dir + '-again',
                                      ['--resume=' + migrated, '--threads=1'], 'default')
                self.assertNotIn('Migrated in memory', again)

    # Rules: MAN-8
    def test_what_version_1_had_no_place_for_is_told_by_every_later_attempt(self):
        def show(checkpoint, *more):
            return subprocess.run(['tools/ckpt/ckpt', 'show', checkpoint, *more], check=True,
                                  stdout=subprocess.PIPE, encoding='utf-8').stdout

        checkpoint = checkpoint_of('v1/adamw-fp32-epoch-boundary')
        run_dir = os.path.join(self.work, 'first-attempt')
        shutil.copytree(checkpoint, os.path.join(run_dir, os.path.basename(checkpoint)))
        c.run_trainer(run_dir, ['--threads=1', '--save_every=10', '--keep=100'], 'default')
        first = os.path.join(run_dir, 'step-%012d' % 30)
        _, later = c.continue_from(first, os.path.join(self.work, 'second-attempt'), 1, 'default')
        of_first, of_later = (json.loads(show(path, '--json')) for path in (first, later))
        self.assertIn('model.ties', of_first['acceptedMissing'])
        self.assertNotIn('acceptedMissing', of_later)
        self.assertEqual([(b['step'], b['items']) for b in of_first['begunAnew']],
                         [('24', of_first['acceptedMissing'])])
        self.assertEqual(of_later['begunAnew'], of_first['begunAnew'])
        self.assertIn('begun anew    at step 24: ' + ' '.join(of_first['acceptedMissing']), show(later))
        # One that was written before there was such a record says it of its own attempt.
        before = json.loads(show(checkpoint_of('v2/adamw-fp32-from-v1'), '--json'))
        self.assertNotIn('begunAnew', before)
        self.assertIn('begun anew    ' + ' '.join(before['acceptedMissing']),
                      show(checkpoint_of('v2/adamw-fp32-from-v1')))

    def test_kernels_of_a_narrower_instruction_set_are_told_apart_and_go_on_alike(self):
        name = 'v1/adamw-fp16-after-overflow'
        found, _ = c.continue_from(checkpoint_of(name), os.path.join(self.work, 'narrow'), 1,
                                   'default', {'ONEDNN_MAX_CPU_ISA': 'SSE41'})
        self.expect_recorded(name, 'default', 'fp16', found)

    def test_record_of_another_entry_is_another_run(self):
        names = entries()
        for name, other in zip(names, names[1:] + names[:1]):
            precision = c.describe(checkpoint_of(name))['environment.autocast_dtype']
            a, b = record_of(name, 'default', 1), record_of(other, 'default', 1)
            self.assertNotEqual(c.differences(a, b), [], name)
            self.assertNotEqual(c.differences(a, b, c.loss_tolerance(name, precision)), [], name)

    def test_one_changed_bit_of_any_column_is_seen(self):
        record = record_of('v1/adamw-fp16-mid-epoch', 'default', 1)
        for column in c.COLUMNS:
            changed = record_of('v1/adamw-fp16-mid-epoch', 'default', 1)
            value = changed.rows[-1][column]
            changed.rows[-1][column] = value[:-1] + ('1' if value[-1] == '0' else '0')
            self.assertEqual(len(c.differences(record, changed)), 1, column)
            self.assertEqual(len(c.differences(record, changed, 0.02)), int(column in c.EXACT),
                             column)
        changed = record_of('v1/adamw-fp16-mid-epoch', 'default', 1)
        changed.rows[-1]['loss'] = '40a00000'  # 5
        self.assertEqual(len(c.differences(record, changed, 0.02)), 1)
        changed.rows[-1]['loss'] = '7fc00000'  # not a number
        self.assertEqual(len(c.differences(record, changed, 0.02)), 1)
        changed = record_of('v1/adamw-fp16-mid-epoch', 'default', 1)
        changed.rows.pop()
        self.assertEqual(len(c.differences(record, changed, 0.02)), 1)

    def test_other_kernels_differ_in_bits_and_agree_within_the_tolerance(self):
        differ = 0
        for name in entries():
            precision = c.describe(checkpoint_of(name))['environment.autocast_dtype']
            a, b = record_of(name, 'default', 1), record_of(name, 'avx2', 1)
            self.assertNotEqual(a.kernel_probe, b.kernel_probe)
            self.assertEqual(c.differences(a, b, c.loss_tolerance(name, precision)), [], name)
            differ += c.differences(a, b) != []
        self.assertGreater(differ, 0, 'the probe told kernels apart that never differ')

    def test_checkpoints_are_where_their_names_say(self):
        for name in entries(['v1']):
            facts = c.describe(checkpoint_of(name))
            step = int(facts['step'])
            batch = int(facts['sampler.cursor']) // int(facts['config.data.batch_size'])
            per_epoch = (int(facts['config.data.train_limit']) //
                         int(facts['config.data.batch_size']))
            kind, precision = name.split('/')[1].split('-')[:2]
            with self.subTest(name):
                self.assertEqual(facts['format.major'], '1')
                self.assertEqual(batch, step)
                self.assertEqual(facts['optimizer.kind'], kind)
                self.assertEqual(facts['environment.autocast_dtype'], precision)
                self.assertEqual(batch % per_epoch == 0, 'epoch-boundary' in name)
                self.assertEqual(facts['schedule.position'] == '0', 'nothing-applied' in name)
                self.assertEqual(facts['presence.optim.moments'],
                                 'EMPTY' if 'nothing-applied' in name else
                                 'NOT_APPLICABLE' if 'without-momentum' in name else 'SAVED')
                self.assertEqual(facts['attempt'], '2' if 'resumed' in name else '1')
                if 'after-overflow' in name:
                    self.assertEqual(facts['scaler.growth_tracker'], '0')
                    self.assertLess(int(facts['schedule.position']), step)

    def test_checkpoints_of_version_2_hold_what_version_1_has_no_place_for(self):
        saved = {
            'v2/adamw-fp16-averaged': ['ema.weights', 'ema.updates', 'best', 'early_stop'],
            'v2/sgd-fp16-inside-a-step': ['accum.grads', 'accum.count', 'user'],
            'v2/sgd-fp32-plateau': ['sched.state', 'clip'],
            'v2/adam-bf16-masters': ['master', 'frozen.flags'],
            'v2/adamw-fp32-text': ['model.ties'],
            'v2/adamw-fp32-from-v1': ['data.fingerprint', 'witness'],
            'v2/sgd-fp32-convnet-behind': ['model.buffers', 'optim.moments'],
            'v2/sgd-bf16-convnet-nesterov': ['model.buffers', 'optim.moments'],
            'v2/sgd-fp16-convnet': ['model.buffers', 'scaler.scale'],
            'v2/adam-bf16-text-plateau': ['model.ties', 'master', 'sched.state'],
            'v2/sgd-fp32-resnet': ['model.buffers', 'optim.moments'],
            'v2/sgd-bf16-resnet-masters': ['model.buffers', 'master'],
            'v2/sgd-fp16-resnet': ['model.buffers', 'scaler.scale'],
            'v2/adamw-fp16-text-masters': ['model.ties', 'master', 'accum.grads', 'scaler.scale'],
        }
        for name in entries(['v2']):
            facts = c.describe(checkpoint_of(name))
            kind, precision = name.split('/')[1].split('-')[:2]
            with self.subTest(name):
                self.assertEqual(facts['format.major'], '2')
                self.assertEqual(facts['optimizer.kind'], kind)
                self.assertEqual(facts['environment.autocast_dtype'], precision)
                for item in saved.get(name, []):
                    self.assertEqual(facts['presence.' + item], 'SAVED', item)
                self.assertNotIn('OMITTED', [v for k, v in facts.items() if k.startswith('presence.')])
                if 'nothing-applied' in name:
                    self.assertEqual(facts['presence.optim.moments'], 'EMPTY')
                    self.assertEqual(facts['presence.ema.weights'], 'EMPTY')
        self.assertEqual(set(saved) - set(entries(['v2'])), set())

    def test_corpus_of_version_2_has_every_model_in_every_precision_and_every_option(self):
        found = [c.describe(checkpoint_of(name)) for name in entries(['v2'])]

        def values(*keys):
            return {tuple(facts['config.' + key] for key in keys) for facts in found}

        self.assertEqual(values('model.kind', 'precision.mode'),
                         {(model, precision) for model in ['mlp', 'convnet', 'resnet18', 'gpt']
                          for precision in ['fp32', 'bf16', 'fp16']})
        self.assertEqual(values('optimizer.kind'), {('adamw',), ('adam',), ('sgd',)})
        self.assertEqual(values('optimizer.nesterov'), {('true',), ('false',)})
        self.assertEqual(values('model.dtype'), {('fp32',), ('bf16',), ('fp16',)})
        self.assertEqual(values('save.background'), {('true',), ('false',)})
        self.assertEqual(values('data.tail'), {('drop',), ('partial',), ('span',)})
        self.assertLessEqual({('plateau-v1',), ('one-cycle-v1',)}, values('schedule.form'))
        self.assertIn('SAVED', [facts['presence.ema.weights'] for facts in found])
        self.assertIn('SAVED', [facts['presence.accum.grads'] for facts in found])

    def test_every_algorithm_id_is_in_the_file_and_has_a_specification_and_vectors(self):
        with open('spec/ALGORITHMS.md', encoding='utf-8') as file:
            specified = [line[3:].strip() for line in file if line.startswith('## ')]
        vectors = os.listdir('spec/vectors/algorithms')

        def check(facts):
            augment = facts['config.data.augment'] == 'true'
            scaled = facts['config.precision.scaler'] == 'true'
            found = {key: facts.get(key) for key in [
                'sampler.algorithm', 'sampler.stream_algorithm', 'sampler.augmentation',
                'model.initialisation', 'optimizer.arithmetic', 'schedule.form',
                'scaler.arithmetic']}
            self.assertEqual(found, {
                'sampler.algorithm': 'feistel-v1',
                'sampler.stream_algorithm': 'philox4x32-10',
                'sampler.augmentation': 'shift2-flip-v1' if augment else '',
                'model.initialisation': 'torch-default-v1',
                'optimizer.arithmetic': 'torch-single-tensor-v1',
                'schedule.form': 'warmup-cosine-v1',
                'scaler.arithmetic': 'grad-scaler-v1' if scaled else None,
            })
            # The data set's id follows from the name in the configuration.
            self.assertEqual(facts['config.data.name'], 'synthetic')
            for algorithm in [a for a in found.values() if a] + ['synthetic-v1']:
                self.assertIn(algorithm, specified)
                self.assertIn(algorithm + '.txt', vectors)

        for name in entries(['v1']):
            with self.subTest(name):
                check(c.describe(checkpoint_of(name)))
        # And in what the trainer of today writes.
        _, written = self.run_of('v1/adamw-fp16-mid-epoch', 'default')
        check(c.describe(written))

    def test_file_that_a_migration_must_refuse_is_readable_and_its_counters_disagree(self):
        steps = c.describe(checkpoint_of(REFUSED))['optimizer.steps'].split(',')
        self.assertEqual(len(steps), 2, steps)
        for name in entries(['v1']):
            steps = c.describe(checkpoint_of(name))['optimizer.steps'].split(',')
            self.assertEqual(len(steps), 1, name)


if __name__ == '__main__':
    unittest.main()
