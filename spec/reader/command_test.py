"""The packed program as people call it: output, messages, exit codes."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from files import SMALL, VECTORS, load, message, real, seal

PROGRAM = os.path.abspath('spec/reader/reprise_reader.pyz')


class CommandTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, data, *names):
        path = self.path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data)
        return path

    def checkpoint(self, step, run='run', data=None):
        """A committed checkpoint of `step`."""
        if data is None:
            m = message()
            m.step = step
            for record in m.inventory:
                record.as_of_step = step
            data = seal(m.SerializeToString())
        self.write(data, run, 'step-%012d' % step, 'manifest.ckpt')
        return self.path(run)

    def call(self, *arguments, code=0, cwd=None):
        """stdout, stderr of the program."""
        environment = {k: v for k, v in os.environ.items()
                       if k not in ('BUILD_WORKING_DIRECTORY', 'PYTHONPATH')}
        done = subprocess.run([PROGRAM] + list(arguments), cwd=cwd or self.folder,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, error = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, error)
        self.assertNotIn('Traceback', error)
        return out, error

    def test_help_tells_commands_and_exit_codes(self):
        out, _ = self.call('--help')
        for word in ('ls', 'verify', 'tensor', 'exit codes', 'ABSENT', 'examples'):
            self.assertIn(word, out)
        for command in ('ls', 'verify', 'tensor'):
            self.assertIn('PATH', self.call(command, '--help')[0])

    def test_EXIT_1_usage_is_1(self):
        for arguments in ((), ('ls',), ('show', 'x'), ('ls', 'x', '--bogus'),
                          ('tensor', 'x', 'y', '--values', '-3'),
                          ('tensor', 'x', 'y', '--values', 'many')):
            with self.subTest(arguments):
                self.assertIn('see --help', self.call(*arguments, code=1)[1])

    def test_missing_path_is_absent(self):
        for command in ('ls', 'verify', 'tensor'):
            error = self.call(command, 'nowhere', code=2)[1]
            self.assertIn('ABSENT: nowhere: nothing of that name is there', error)

    def test_empty_folder_is_absent_and_a_checkpoint_without_manifest_corrupt(self):
        os.mkdir(self.path('empty'))
        for command in ('ls', 'verify', 'tensor'):
            self.assertIn('ABSENT: empty: no checkpoint is there',
                          self.call(command, 'empty', code=2)[1])
        os.mkdir(self.path('step-000000000060'))
        self.assertIn('CORRUPT', self.call('verify', 'step-000000000060', code=11)[1])

    def test_another_kind_of_file_is_no_checkpoint(self):
        self.write(b'hello\n', 'notes.txt')
        self.write(b'PK\x03\x04' + bytes(100), 'model.pt')
        for command in ('ls', 'verify', 'tensor'):
            self.assertIn('NOT_A_CHECKPOINT: notes.txt: it seems to be a text file',
                          self.call(command, 'notes.txt', code=11)[1])
        self.assertIn('zip archive', self.call('verify', 'model.pt', code=11)[1])

    def test_truncated_file_says_expected_and_found(self):
        self.write(load(SMALL)[:700], 'cut.ckpt')
        for command in ('ls', 'verify', 'tensor'):
            self.assertIn('TRUNCATED: cut.ckpt: expected 1192 bytes, found 700',
                          self.call(command, 'cut.ckpt', code=11)[1])

    def test_DIR_5_links_and_special_files_are_refused(self):
        run = self.checkpoint(60)
        os.symlink(self.path('run', 'step-000000000060'), self.path('run', 'step-000000000061'))
        os.symlink(self.path('run', 'step-000000000060', 'manifest.ckpt'), self.path('link.ckpt'))
        os.mkfifo(self.path('pipe.ckpt'))
        for path in ('link.ckpt', 'pipe.ckpt', 'run/step-000000000061'):
            self.assertIn('NOT_A_CHECKPOINT', self.call('verify', path, code=11)[1])
        self.assertIn('NOT_A_CHECKPOINT', self.call('ls', run)[0])
        os.symlink(run, self.path('link'))
        self.assertIn('newest that verifies: step 60', self.call('ls', 'link')[0])

    def test_DIR_1_names_and_steps(self):
        self.checkpoint(60)
        source = self.path('run', 'step-000000000060')
        shutil.copytree(source, self.path('run', 'step-000000000061'))
        self.assertIn('MISMATCH', self.call('verify', 'run/step-000000000061', code=11)[1])
        # Between micro-steps version 1 saves nothing.
        shutil.copytree(source, self.path('run', 'step-000000000060-micro-0001'))
        self.assertIn('MISMATCH', self.call('verify', 'run/step-000000000060-micro-0001',
                                            code=11)[1])
        for name in ('step-60', 'step-0000000000060', 'step-000000000060-micro-1', 'step-'):
            shutil.copytree(source, self.path('run', name))
            self.assertIn('malformed name', self.call('verify', 'run/' + name, code=11)[1])
        for name in ('.tmp-step-000000000062', '.trash-step-000000000059'):
            shutil.copytree(source, self.path('run', name))
            self.assertIn('did not finish', self.call('ls', 'run/' + name, code=11)[1])
        shutil.copytree(source, self.path('kept'))
        self.call('verify', 'kept')

    def test_NEWEST_1_ls_of_a_run_folder_passes_damaged_ones_over(self):
        self.checkpoint(20)
        self.checkpoint(40)
        self.checkpoint(60, data=load(SMALL)[:-1])
        self.write(b'', 'run', 'lock')
        self.write(b'x', 'run', '.tmp-step-000000000080', 'manifest.ckpt')
        lines = self.call('ls', 'run')[0].splitlines()
        self.assertEqual(lines[0].split(),
                         ['NAME', 'STEP', 'BYTES', 'VERSION', 'ATTEMPT', 'VERIFIED'])
        self.assertEqual([line.split()[:2] for line in lines[1:4]],
                         [['step-%012d' % step, str(step)] for step in (60, 40, 20)])
        self.assertIn('no: TRUNCATED: expected 1192 bytes, found 1191', lines[1])
        self.assertEqual(lines[2].split()[3:], ['1.0', '1', 'yes'])
        self.assertEqual(lines[4:], ['newest that verifies: step 40'])

    def test_NEWEST_2_too_new_stops(self):
        self.checkpoint(20)
        self.checkpoint(60, data=seal(b'', major=1000))
        self.assertIn('none to go on from: step-000000000060 is TOO_NEW', self.call('ls', 'run')[0])
        self.assertIn('TOO_NEW', self.call('tensor', 'run', code=11)[1])

    def test_NEWEST_3_reason_of_the_newest_is_the_refusal(self):
        self.checkpoint(20, data=load(SMALL)[:48])
        self.checkpoint(60, data=load(SMALL) + b'x')
        self.assertIn('no checkpoint verifies', self.call('ls', 'run')[0])
        self.assertIn('CORRUPT', self.call('tensor', 'run', code=11)[1])

    def test_verify_says_a_line_for_each_and_the_first_refusal_is_the_code(self):
        self.checkpoint(20)
        self.checkpoint(40, data=load(SMALL)[:99])
        out, error = self.call('verify', 'run', 'nowhere', code=11)
        self.assertEqual(out, 'run/step-000000000020: verified, step 20\n')
        self.assertIn('TRUNCATED: run/step-000000000040/manifest.ckpt', error)
        self.assertIn('ABSENT: nowhere', error)
        self.call('verify', 'nowhere', 'run', code=2)
        self.call('verify', 'run/step-000000000020')

    def test_ls_of_a_checkpoint_tells_every_item_and_why_not(self):
        run = self.checkpoint(60)
        for path in (run + '/step-000000000060', run + '/step-000000000060/manifest.ckpt'):
            out = self.call('ls', path)[0]
            self.assertRegex(out, r'step +60\nformat +1\.0\nbytes +1192\nverified +yes\n')
            self.assertRegex(out, r'rng\.cuda +NOT_APPLICABLE +the device is cpu')
            self.assertRegex(out, r'moments +4 tensors, 16 elements, 64 bytes')
            self.assertEqual(out.count(' SAVED'), 29)

    def test_text_of_a_file_cannot_command_the_terminal(self):
        m = message()
        for record in m.inventory:
            if record.reason:
                record.reason = 'a\x1b[2Jb'
        self.write(seal(m.SerializeToString()), 'odd.ckpt')
        out = self.call('ls', 'odd.ckpt')[0]
        self.assertIn('a\\x1b[2Jb', out)
        self.assertNotIn('\x1b', out)

    def test_tensor_lists_shows_and_extracts(self):
        self.checkpoint(60)
        out = self.call('tensor', 'run')[0]
        self.assertRegex(out, r'fc\.weight +parameter +f32 +\[2, 3\] +24 +[0-9a-f]{32}\n')
        self.assertRegex(out, r'fc\.bias:exp_avg_sq +moment ')
        out = self.call('tensor', 'run', 'fc.weight:exp_avg', '--values', '2')[0]
        self.assertRegex(out, r'mean +30\.0\n')
        self.assertIn('values    30.0 30.0 ... 4 more\n', out)
        self.assertNotIn('values', self.call('tensor', 'run', 'fc.bias', '--values', '0')[0])
        self.call('tensor', 'run', 'fc.weight:exp_avg', '--out', 'moment.bin')
        self.assertEqual(load(self.path('moment.bin')), b'\0\0\xf0A' * 6)
        self.assertEqual(stat.S_IMODE(os.stat(self.path('moment.bin')).st_mode) & 0o111, 0)
        self.assertIn('not overwritten',
                      self.call('tensor', 'run', 'fc.bias', '--out', 'moment.bin', code=2)[1])
        self.assertEqual(load(self.path('moment.bin')), b'\0\0\xf0A' * 6)
        self.assertIn('cannot be written',
                      self.call('tensor', 'run', 'fc.bias', '--out', 'no/where', code=2)[1])
        self.call('tensor', 'run', '--out', 'x', code=1)
        done = subprocess.run([PROGRAM, 'tensor', self.path('run'), 'fc.weight:exp_avg', '--out',
                               '-'], stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, b'\0\0\xf0A' * 6)

    def test_unknown_tensor_names_the_near_ones(self):
        self.checkpoint(60)
        self.assertIn('near it: fc.weight',
                      self.call('tensor', 'run', 'fc.wieght', code=2)[1])

    def test_paths_are_the_persons_under_bazel_run(self):
        self.checkpoint(60)
        environment = dict(os.environ, BUILD_WORKING_DIRECTORY=self.folder)
        done = subprocess.run([PROGRAM, 'verify', 'run'], env=environment, cwd='/',
                              stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)

    def test_reading_changes_nothing(self):
        self.checkpoint(60)

        def state():
            return [(path, names, [os.stat(os.path.join(path, n)).st_mtime_ns for n in names])
                    for path, _, names in os.walk(self.path('run'))]
        before = state()
        for arguments in (('ls', 'run'), ('verify', 'run'), ('tensor', 'run')):
            self.call(*arguments)
        self.assertEqual(state(), before)

    def test_every_valid_vector_lists(self):
        valid = real(VECTORS + 'valid')
        for name in os.listdir(valid):
            for command in ('ls', 'verify', 'tensor'):
                self.call(command, valid + name + '/checkpoint')


if __name__ == '__main__':
    unittest.main()
