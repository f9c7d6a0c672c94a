"""ckpt import and ckpt export, as processes, on files that Python's packages wrote."""

import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
import zipfile

CKPT = 'tools/ckpt/ckpt'
FIXTURES = 'format/interop/fixtures'


def see_no_more_than_modes_say():
    """Takes from root the power to pass over permissions, for programs started after it."""
    cap_dac_override, cap_dac_read_search, pr_capbset_drop = 1, 2, 24
    libc = ctypes.CDLL(None)
    for capability in (cap_dac_override, cap_dac_read_search):
        libc.prctl(pr_capbset_drop, capability, 0, 0, 0)


class InteropVerbsTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fixture(self, name):
        return os.path.realpath(os.path.join(FIXTURES, name))

    def ckpt(self, *words, code=0, most=None, bound=False):
        """`most`: bytes of a file; `bound`: by permissions, for root too."""
        def limit():
            if bound:
                see_no_more_than_modes_say()
            if most:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        environment = {k: v for k, v in os.environ.items() if k != 'BUILD_WORKING_DIRECTORY'}
        done = subprocess.run([CKPT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding='utf-8', env=environment,
                              preexec_fn=limit)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_import_says_what_is_saved_and_what_is_lacking(self):
        done = self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'))
        self.assertIn('step-000000000005', done.stdout)
        self.assertIn('scaler.growth_tracker', done.stdout)
        self.assertIn('sampler.cursor', done.stdout.split('Lacking for the very same run:')[-1])
        report = json.loads(self.ckpt('import', self.fixture('nanogpt.pt'), '--json',
                                      '--out', self.path('other')).stdout)
        presence = {line['item']: line['presence'] for line in report['items']}
        self.assertEqual(presence['model.ties'], 'SAVED')
        self.assertEqual(presence['rng.cpu'], 'OMITTED')
        self.assertEqual(report['step'], '3')
        self.assertTrue(os.path.exists(os.path.join(report['checkpoint'], 'manifest.ckpt')))

    def test_an_imported_file_exports_to_the_same_tensors(self):
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'))
        self.ckpt('export', self.path('run'), '--out', self.path('again.pt'))
        with zipfile.ZipFile(self.path('again.pt')) as again, \
                zipfile.ZipFile(self.fixture('seed_example.pt')) as first:
            self.assertIsNone(again.testzip())
            content = {again.read(n) for n in again.namelist() if '/data/' in n}
            for name in first.namelist():
                if '/data/' in name:
                    self.assertIn(first.read(name), content, name)
        done = self.ckpt('export', self.path('run'), '--out', self.path('w.safetensors'), '--json')
        report = json.loads(done.stdout)
        self.assertEqual(report['format'], 'safetensors')
        self.assertIn('optim.moments', report['notExported'])
        with open(self.path('w.safetensors'), 'rb') as file:
            size = struct.unpack('<Q', file.read(8))[0]
            header = json.loads(file.read(size))
        self.assertEqual(header['conv.weight']['shape'], [2, 1, 3, 3])
        self.ckpt('import', self.path('w.safetensors'), '--out', self.path('back'))

    def test_import_refuses_and_leaves_nothing_behind(self):
        with open(self.fixture('seed_example.pt'), 'rb') as file:
            whole = file.read()
        for name, content in (('cut.pt', whole[:4000]), ('text.pt', b'hello there'), ('empty.pt', b''),
                              ('flipped.pt', whole[:300] + b'\xff\xff\xff\xff' + whole[304:])):
            with open(self.path(name), 'wb') as file:
                file.write(content)
        cases = (
            ([self.path('nowhere.pt')], 2, 'ABSENT'),
            ([self.folder], 11, ''),
            ([self.path('cut.pt')], 11, 'TRUNCATED'),
            ([self.path('flipped.pt')], 11, 'CORRUPT'),
            ([self.path('text.pt')], 11, 'text file'),
            ([self.path('empty.pt')], 11, 'an empty file'),
            ([self.fixture('numpy_scalar.pt')], 10, 'numpy'),
            ([self.fixture('torchscript.pt')], 11, 'TorchScript'),
            ([self.fixture('before_torch_1_6.pt')], 11, 'pickle'),
            ([self.fixture('everything.pt')], 11, 'model_key'),
            ([self.fixture('nanogpt.pt'), '--groups=.*'], 2, 'groups'),
            ([self.fixture('nanogpt.pt'), '--step=x'], 2, '--step'),
            ([self.fixture('nanogpt.pt'), '--optimizer=lion'], 2, 'adamw'),
        )
        for words, code, says in cases:
            done = self.ckpt('import', *words, '--out', self.path('run'), code=code)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stdout, '')
            self.assertFalse(os.path.exists(self.path('run')), words)

    # Files of the real torch.save that hold what is no plain state, or lack what they must have.
    def test_C36_import_refuses_by_name_what_is_no_plain_state(self):
        cases = {
            'dtype': (10, ['torch.float8_e8m0fnu', 'nothing was executed']),
            'sparse': (10, ['_rebuild_sparse_tensor', 'nothing was executed']),
            'quantized': (10, ['_rebuild_qtensor', 'nothing was executed']),
            'class': (10, ['argparse.Namespace', 'nothing was executed']),
            'whole_model': (10, ['torch.nn.modules.linear.Linear', 'nothing was executed']),
            'views': (11, ['model.params all', 'model.params part', 'share some of their bytes']),
            'transposed_view': (11, ['model.params w_t', 'share some of their bytes']),
            'no_model': (11, ['MISSING_ITEM', 'model.params', 'optimizer, step']),
            'no_param_groups': (11, ['MISSING_ITEM', 'param_groups']),
            'no_growth_tracker': (11, ['MISSING_ITEM', 'scaler', '_growth_tracker']),
            'no_moment_shape': (11, ['MISMATCH', 'optim.identity']),
            'one_master': (11, ['MISMATCH', 'master: there is none of b']),
            'master_of_another_shape': (11, ['MISMATCH', 'master: a', 'f32 [2, 2]', 'f32 [4]']),
            'two_masters_of_a_tie': (11, ['MISMATCH', 'master: head.weight is wte.weight']),
            'master_of_nothing': (11, ['MISMATCH', 'master: c']),
            'masters_by_position': (11, ['MISMATCH', 'master', 'master_key']),
        }
        there = sorted(n for n in os.listdir(FIXTURES) if n.startswith('refused_'))
        self.assertEqual(there, sorted('refused_%s.pt' % name for name in cases))
        for name, (code, says) in cases.items():
            with self.subTest(name):
                path = self.fixture('refused_%s.pt' % name)
                done = self.ckpt('import', path, '--out', self.path('run'), code=code)
                for text in says:
                    self.assertIn(text, done.stderr)
                if 'share some' not in says[-1]:
                    self.assertIn(path, done.stderr)
                self.assertEqual(done.stdout, '')
                self.assertEqual(os.listdir(self.folder), [])
                report = json.loads(self.ckpt('import', path, '--json', '--out', self.path('run'),
                                              code=code).stdout)
                self.assertEqual(report['exitCode'], code)

    def test_import_refuses_damaged_safetensors_and_leaves_nothing_behind(self):
        with open(self.fixture('everything.safetensors'), 'rb') as file:
            whole = file.read()
        for name, content, says in (('cut', whole[:-1], 'TRUNCATED'),
                                    ('in_the_header', whole[:100], 'TRUNCATED'),
                                    ('empty', b'', ''),
                                    ('flipped', whole[:20] + b'\xff' + whole[21:], 'CORRUPT'),
                                    ('endless', b'\xff' * 8 + whole[8:], 'LIMIT')):
            with self.subTest(name):
                path = self.path(name + '.safetensors')
                with open(path, 'wb') as file:
                    file.write(content)
                done = self.ckpt('import', path, '--out', self.path('run'), code=11)
                self.assertIn(says, done.stderr)
                self.assertFalse(os.path.exists(self.path('run')))

    def test_without_permission_import_and_export_say_so_and_leave_nothing_behind(self):
        closed = self.path('closed')
        os.mkdir(closed)
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'))
        shutil.copy(self.fixture('seed_example.pt'), self.path('mine.pt'))
        os.chmod(closed, 0o500)
        os.chmod(self.path('mine.pt'), 0)
        before = sorted(os.listdir(self.folder))
        if subprocess.run(['cat', self.path('mine.pt')], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False,
                          preexec_fn=see_no_more_than_modes_say).returncode == 0:
            self.skipTest('root sees everything here, and cannot help it')
        cases = [
            (['import', self.path('mine.pt'), '--out', self.path('new')], 11),
            (['import', self.fixture('seed_example.pt'), '--out', closed + '/new'], 14),
            (['export', self.path('run'), '--out', closed + '/a.pt'], 14),
        ]
        for words, code in cases:
            done = self.ckpt(*words, code=code, bound=True)
            self.assertIn('ermission denied', done.stderr)
        os.chmod(self.path('run'), 0)
        done = self.ckpt('export', self.path('run'), '--out', self.path('a.pt'), code=11, bound=True)
        self.assertIn('ermission denied', done.stderr)
        os.chmod(self.path('run'), 0o755)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(os.listdir(closed), [])

    def test_export_reads_a_run_that_is_being_written_right_now(self):
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'))
        os.mkdir(self.path('run/.tmp-step-000000000006'))
        with open(self.path('run/lock'), 'r+b') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            report = json.loads(self.ckpt('export', self.path('run'), '--json', '--out',
                                          self.path('a.pt')).stdout)
            self.assertIn('step-000000000005', report['checkpoint'])
            done = self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'),
                             code=2)
            self.assertIn('new or empty folder', done.stderr)
        self.assertIn('.tmp-step-000000000006', os.listdir(self.path('run')))

    def test_ls_names_the_run_itself_and_not_one_that_was_abandoned(self):
        reports = [json.loads(self.ckpt('import', self.fixture('state_dict.pt'), '--json',
                                        '--out', self.path(name)).stdout) for name in ('run', 'old')]
        self.assertNotEqual(reports[0]['runId'], reports[1]['runId'])
        os.makedirs(self.path('run/abandoned'))
        os.rename(self.path('old'), self.path('run/abandoned/1'))
        first = self.ckpt('ls', self.path('run')).stdout.splitlines()[0]
        self.assertIn('2 checkpoints', first)
        self.assertIn('run ' + reports[0]['runId'], first)

    def test_what_cannot_be_written_ends_with_14_and_leaves_nothing_behind(self):
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('run'))
        # A disk that is full after 3,000 bytes of a file.
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('other'), code=14, most=3000)
        self.ckpt('export', self.path('run'), '--out', self.path('a.pt'), code=14, most=3000)
        self.assertEqual(os.listdir(self.folder), ['run'])
        os.mkdir(self.path('mine'))
        self.ckpt('import', self.fixture('seed_example.pt'), '--out', self.path('mine'), code=14, most=3000)
        self.assertEqual(os.listdir(self.path('mine')), [])

    def test_nothing_that_is_there_is_replaced(self):
        self.ckpt('import', self.fixture('state_dict.pt'), '--out', self.path('run'))
        done = self.ckpt('import', self.fixture('state_dict.pt'), '--out', self.path('run'), code=2)
        self.assertIn('new or empty folder', done.stderr)
        self.ckpt('export', self.path('run'), '--out', self.path('a.pt'))
        with open(self.path('a.pt'), 'rb') as file:
            before = file.read()
        done = self.ckpt('export', self.path('run'), '--out', self.path('a.pt'), code=2)
        self.assertIn('not replaced', done.stderr)
        with open(self.path('a.pt'), 'rb') as file:
            self.assertEqual(file.read(), before)

    def test_export_refuses_and_leaves_nothing_behind(self):
        self.ckpt('import', self.fixture('state_dict.pt'), '--out', self.path('run'))
        os.mkdir(self.path('empty'))
        self.ckpt('export', self.path('nowhere'), '--out', self.path('a.pt'), code=2)
        self.ckpt('export', self.path('empty'), '--out', self.path('a.pt'), code=2)
        self.ckpt('export', self.path('run'), '--out', self.path('a.bin'), code=2)
        self.ckpt('export', self.path('run'), '--out', self.path('no/such/folder/a.pt'), code=2)
        self.ckpt('export', self.path('run'), '--ema', '--out', self.path('a.safetensors'), code=11)
        manifest = os.path.join(self.path('run'), 'step-000000000000', 'manifest.ckpt')
        os.chmod(manifest, 0o644)
        with open(manifest, 'r+b') as file:
            file.seek(100)
            file.write(b'\0\0\0')
        done = self.ckpt('export', self.path('run'), '--out', self.path('a.pt'), code=11)
        self.assertIn('CORRUPT', done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ['empty', 'run'])

    def test_usage_errors_end_with_1_and_help_with_0(self):
        self.assertIn('there is no verb', self.ckpt('imprt', code=1).stderr)
        self.assertIn('export', self.ckpt(code=1).stderr)
        self.assertIn('import', self.ckpt('--help').stdout)
        self.assertIn('--groups', self.ckpt('import', '--help').stdout)
        self.assertIn('unknown flag', self.ckpt('export', '--forse', code=1).stderr)


if __name__ == '__main__':
    unittest.main()
