"""The verbs of ckpt that look at runs and keep them in order, as processes."""

import ctypes
import fcntl
import hashlib
import json
import os
import pty
import shutil
import stat
import struct
import subprocess
import tempfile
import termios
import unittest

CKPT = 'tools/ckpt/ckpt'
MAKE_RUN = 'tools/ckpt/make_run'
# What every verb is given beside its path.
FLAGS = {'ls': [], 'show': [], 'verify': [], 'missing': [], 'prune': ['--keep_last=1'],
         'repair': []}
DONE, USAGE, BAD_REQUEST, REJECTED = 0, 1, 2, 11


def name_of(step):
    return 'step-%012d' % step


def replace(path, change):
    """Changes a read-only file by making another one."""
    with open(path, 'rb') as file:
        data = file.read()
    os.unlink(path)
    with open(path, 'wb') as file:
        file.write(change(data))


def flip(offset):
    def change(data):
        data = bytearray(data)
        data[offset] ^= 1
        return bytes(data)
    return change


def see_no_more_than_modes_say():
    """Takes from root the power to pass over permissions; programs started after it have it no more."""
    cap_dac_override, cap_dac_read_search, pr_capbset_drop = 1, 2, 24
    libc = ctypes.CDLL(None)
    for capability in (cap_dac_override, cap_dac_read_search):
        libc.prctl(pr_capbset_drop, capability, 0, 0, 0)


class VerbsTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(self.remove)
        self.run_folder = os.path.join(self.folder, 'run')

    def remove(self):
        subprocess.run(['chmod', '-R', 'u+rwx', self.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, *steps, major=2, run=None):
        subprocess.run([MAKE_RUN, run or self.run_folder, str(major), *map(str, steps)],
                       check=True)

    def path(self, step, *names):
        return os.path.join(self.run_folder, name_of(step), *names)

    def ckpt(self, *words, code=DONE):
        environment = {k: v for k, v in os.environ.items() if k != 'BUILD_WORKING_DIRECTORY'}
        done = subprocess.run([CKPT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding='utf-8', env=environment, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn('\x1b', done.stdout + done.stderr, 'colours into a pipe')
        return done

    def json(self, *words, code=DONE):
        return json.loads(self.ckpt(*words, '--json', code=code).stdout)

    def content(self, path=None):
        """Digest of everything below: names, modes, bytes."""
        digest = hashlib.sha256()
        for folder, folders, files in sorted(os.walk(path or self.folder)):
            folders.sort()
            for name in sorted(files) + folders:
                full = os.path.join(folder, name)
                mode = os.lstat(full).st_mode
                digest.update(('%s %o\n' % (full, mode)).encode())
                if stat.S_ISREG(mode):
                    with open(full, 'rb') as file:
                        digest.update(file.read())
        return digest.hexdigest()

    # What each of them is for.

    def test_ls_lists_the_run_and_its_branches(self):
        self.make(10, 20, 30)
        self.make(10, 20, 30, run=self.run_folder + '2')
        os.makedirs(os.path.join(self.run_folder, 'abandoned', '2'))
        os.rename(os.path.join(self.run_folder + '2', name_of(30)),
                  os.path.join(self.run_folder, 'abandoned', '2', name_of(40)))
        report = self.json('ls', self.run_folder)
        self.assertEqual([(c.get('branch', ''), c['step']) for c in report['checkpoints']],
                         [('', '10'), ('', '20'), ('', '30'), ('abandoned/2', '40')])
        self.assertEqual([c.get('best', False) for c in report['checkpoints'][:3]],
                         [False, True, False])
        self.assertEqual({c['state'] for c in report['checkpoints']}, {'not read'})
        self.assertEqual(report['latest'], name_of(30))
        text = self.ckpt('ls', self.run_folder).stdout
        self.assertIn('4 checkpoints', text)
        self.assertIn('abandoned/2', text)
        self.assertIn('latest', text)
        self.assertRegex(text, r'(?m)^20 .* best: ')

    def test_ls_names_what_is_damaged(self):
        self.make(10, 20)
        replace(self.path(10, 'manifest.ckpt'), lambda data: data[:100])
        text = self.ckpt('ls', self.run_folder).stdout
        self.assertRegex(text, r'(?m)^10 .* TRUNCATED')
        self.ckpt('ls', self.run_folder, '--verify', code=REJECTED)

    def test_ls_verifies_when_asked(self):
        self.make(10, 20)
        report = self.json('ls', self.run_folder, '--verify')
        self.assertEqual({c['state'] for c in report['checkpoints']}, {'verified'})
        replace(self.path(20, 'shard-0000-0000.bin'), flip(0))
        done = self.ckpt('ls', self.run_folder, '--verify', code=REJECTED)
        self.assertRegex(done.stdout, r'(?m)^20 .* CORRUPT')
        self.assertIn('1 of 2 checkpoints', done.stderr)

    def test_show_has_every_item_with_its_values(self):
        self.make(10)
        report = self.json('show', self.run_folder, '--tensors')
        self.assertEqual(len(report['items']), 50)
        items = {item['item']: item for item in report['items']}
        values = {v['path']: v['text'] for v in items['scaler.scale']['values']}
        self.assertEqual(values, {'scaler.scale': '65536'})
        self.assertEqual(items['optim.moments']['presence'], 'SAVED')
        self.assertGreater(int(items['optim.moments']['tensors']), 1)
        self.assertGreater(len(report['tensors']), 5)
        self.assertTrue(any(t.get('tiedTo') for t in report['tensors']))
        text = self.ckpt('show', self.path(10)).stdout
        self.assertRegex(text, r'scaler\.growth_tracker +SAVED +scaler\.growth_tracker = ')
        self.assertIn('can resume', text)

    def test_show_reads_version_1(self):
        self.make(10, major=1)
        report = self.json('show', self.path(10))
        items = {item['item']: item for item in report['items']}
        self.assertEqual(items['scaler.scale']['values'][0]['text'], '65536')
        report = self.json('show', self.path(10), '--tensor=fc.weight')
        self.assertEqual(report['statistics']['elements'], '6')

    def test_show_describes_one_tensor(self):
        self.make(60)
        report = self.json('show', self.run_folder, '--tensor=fc.weight', '--values=2')
        statistics = report['statistics']
        self.assertEqual(statistics['tensor']['shape'], ['2', '3'])
        self.assertEqual(statistics['values'], ['60', '1'])
        self.assertEqual(statistics['maximum'], 60)
        moment = self.json('show', self.run_folder, '--tensor=fc.weight/exp_avg')
        self.assertEqual(moment['statistics']['tensor']['item'], 'optim.moments')
        ema = self.json('show', self.run_folder, '--tensor=ema.weights:fc.weight')
        self.assertEqual(ema['statistics']['tensor']['item'], 'ema.weights')
        text = self.ckpt('show', self.run_folder, '--tensor=fc.weight').stdout
        self.assertIn('standard deviation', text)
        done = self.ckpt('show', self.run_folder, '--tensor=weight', code=BAD_REQUEST)
        self.assertIn('model.params:fc.weight', done.stderr)

    def test_verify_names_tensor_and_range_of_each_damage(self):
        self.make(10, 20)
        report = self.json('verify', self.run_folder)
        self.assertEqual([c['whole'] for c in report['checkpoints']], [True, True])
        for shard in ('shard-0000-0000.bin', 'shard-0000-0001.bin'):
            replace(self.path(20, shard), flip(0))
        done = self.ckpt('verify', self.run_folder, '--threads=3', code=REJECTED)
        self.assertRegex(done.stdout, r'whole .*' + name_of(10))
        self.assertRegex(done.stdout, r'DAMAGED .*' + name_of(20))
        self.assertEqual(done.stdout.count('damaged in bytes [0, '), 2)
        self.assertIn('model.', done.stdout)
        report = json.loads(self.ckpt('verify', self.path(20), '--json',
                                      code=REJECTED).stdout.split('\n{', 1)[0])
        self.assertEqual(len(report['checkpoints'][0]['problems']), 2)

    def test_diff_says_the_same_training_state(self):
        self.make(10, 20)
        shutil.copytree(self.path(10), self.folder + '/copy')
        text = self.ckpt('diff', self.path(10), self.folder + '/copy').stdout
        self.assertIn('The same training state.', text)
        self.assertTrue(self.json('diff', self.path(10), self.folder + '/copy')['same'])

    def test_diff_names_items_and_tensors(self):
        self.make(10, 20)
        report = self.json('diff', self.path(10), self.path(20))
        self.assertFalse(report.get('same', False))
        self.assertIn('counters.step', report['items'])
        weight = [t for t in report['tensors']
                  if t['item'] == 'model.params' and t['name'] == 'fc.weight'][0]
        self.assertEqual(weight['differing'], '1')
        self.assertEqual(weight['firstIndex'], ['0', '0'])
        self.assertGreater(int(weight['maxUlp']), 1)
        text = self.ckpt('diff', self.path(10), self.path(20), '--most=1').stdout
        self.assertIn('more tensors', text)

    def test_missing_says_what_and_why(self):
        self.make(10)
        self.assertIn('nothing is missing', self.ckpt('missing', self.run_folder).stdout)
        old = self.folder + '/old'
        self.make(10, major=1, run=old)
        done = self.ckpt('missing', old, '--for=bitwise', code=REJECTED)
        self.assertIn('not recorded by v1', done.stdout)
        report = json.loads(self.ckpt('missing', old, '--for=bitwise', '--json',
                                      code=REJECTED).stdout.split('\n{', 1)[0])
        self.assertIn('data.fingerprint', [m['item'] for m in report['missing']])
        self.ckpt('missing', old, '--for=tomorrow', code=BAD_REQUEST)

    def test_prune_does_what_its_dry_run_said(self):
        self.make(10, 20, 30, 40, 50)
        words = ('prune', self.run_folder, '--keep_last=1', '--keep_every=40', '--keep_best')
        before = self.content()
        planned = self.json(*words, '--dry_run')
        self.assertEqual(self.content(), before)
        removed = [c['name'] for c in planned['checkpoints'] if not c.get('keep')]
        self.assertEqual(removed, [name_of(30), name_of(10)])
        report = self.json(*words)
        self.assertEqual([c['name'] for c in report['checkpoints'] if not c.get('keep')], removed)
        self.assertEqual(report['bytesRemoved'], planned['bytesRemoved'])
        self.assertEqual(sorted(n for n in os.listdir(self.run_folder) if n[0] == 's'),
                         [name_of(20), name_of(40), name_of(50)])
        self.assertIn('0 of 3', self.ckpt(*words).stdout)

    def test_repair_sweeps_leftovers_and_rebuilds_the_hint(self):
        self.make(10, 20, 30)
        replace(self.path(30, 'shard-0000-0000.bin'), flip(0))
        os.makedirs(os.path.join(self.run_folder, '.tmp-' + name_of(40)))
        committed = [self.content(self.path(step)) for step in (10, 20, 30)]
        before = self.content()
        text = self.ckpt('repair', self.run_folder, '--dry_run').stdout
        self.assertIn('would remove the leftover .tmp-', text)
        self.assertIn('would make latest name ' + name_of(20), text)
        self.assertEqual(self.content(), before)
        report = self.json('repair', self.run_folder)
        self.assertEqual(report['newest'], name_of(20))
        self.assertEqual(report['damaged'][0]['refusal'], 'CORRUPT')
        self.assertEqual(len(report['done']), 2)
        self.assertEqual(sorted(os.listdir(self.run_folder)),
                         ['latest', 'lock', name_of(10), name_of(20), name_of(30)])
        with open(os.path.join(self.run_folder, 'latest'), encoding='utf-8') as file:
            self.assertEqual(file.read(), name_of(20) + '\n')
        self.assertEqual([self.content(self.path(step)) for step in (10, 20, 30)], committed)
        self.assertIn('nothing to repair', self.ckpt('repair', self.run_folder).stdout)

    # What they say to what is no run.

    def refused(self, path, codes, changed=False):
        """Every verb refuses `path` with one of the codes, in words, and changes nothing."""
        before = self.content()
        for verb, flags in FLAGS.items():
            with self.subTest(verb=verb):
                done = self.ckpt(verb, path, *flags, code=codes.get(verb, codes['*']))
                self.assertRegex(done.stderr, r'^(passed over .*\n)*ckpt %s: \S' % verb)
                self.assertNotIn('terminate', done.stderr)
                last = json.loads('{' + self.ckpt(
                    verb, path, *flags, '--json',
                    code=codes.get(verb, codes['*'])).stdout.rsplit('\n{', 1)[-1].lstrip('{'))
                self.assertEqual(last['exitCode'], codes.get(verb, codes['*']))
        self.ckpt('diff', path, path, code=codes.get('diff', codes['*']))
        if not changed:
            self.assertEqual(self.content(), before)

    def test_bad_input_missing_path(self):
        self.refused(self.folder + '/nothing', {'*': BAD_REQUEST})

    def test_bad_input_empty_folder(self):
        os.mkdir(self.folder + '/empty')
        self.refused(self.folder + '/empty', {'*': BAD_REQUEST})

    def test_bad_input_another_kind_of_file(self):
        with open(self.folder + '/model.pt', 'wb') as file:
            file.write(b'PK\x03\x04 and so on')
        self.refused(self.folder + '/model.pt', {'*': REJECTED})

    def test_bad_input_another_kind_of_file_under_our_name(self):
        os.makedirs(self.folder + '/x')
        with open(self.folder + '/x/manifest.ckpt', 'wb') as file:
            file.write(b'PK\x03\x04 and so on')
        self.refused(self.folder + '/x', {'*': REJECTED, 'ls': BAD_REQUEST, 'prune': BAD_REQUEST,
                                          'repair': BAD_REQUEST})

    def damaged(self, damage):
        self.make(10)
        damage(self.path(10))
        before = self.content(self.path(10))
        for verb in ('show', 'missing', 'verify'):
            for path in (self.path(10), self.run_folder):
                done = self.ckpt(verb, path, code=REJECTED)
                self.assertRegex(done.stderr + done.stdout, 'TRUNCATED|CORRUPT')
        self.ckpt('diff', self.path(10), self.run_folder, code=REJECTED)
        self.ckpt('ls', self.run_folder, '--verify', code=REJECTED)
        # It is all there is: it stays.
        report = self.json('prune', self.run_folder, '--keep_last=1')
        self.assertTrue(report['checkpoints'][0]['keep'])
        report = self.json('repair', self.run_folder)
        self.assertEqual(len(report['damaged']), 1)
        self.assertEqual(self.content(self.path(10)), before)

    def test_bad_input_truncated(self):
        self.damaged(lambda path: replace(path + '/manifest.ckpt', lambda data: data[:-1]))

    def test_bad_input_flipped(self):
        self.damaged(lambda path: replace(path + '/manifest.ckpt', flip(200)))

    def test_bad_input_shard_cut(self):
        self.damaged(lambda path: replace(path + '/shard-0000-0000.bin', lambda data: data[:-1]))

    def test_bad_input_newer_format(self):
        self.make(10, 20)
        newer = b'\xd2RPR\r\n\x1a\n' + (48).to_bytes(4, 'little') + (1000).to_bytes(4, 'little')
        newer += bytes(28)
        import zlib  # pylint: disable=import-outside-toplevel
        newer += zlib.crc32(newer).to_bytes(4, 'little')
        replace(self.path(20, 'manifest.ckpt'), lambda data: newer)
        for verb in ('show', 'missing', 'verify'):
            done = self.ckpt(verb, self.run_folder, code=REJECTED)
            self.assertIn('TOO_NEW', done.stderr)
        self.assertIn('newer ', self.ckpt('verify', self.run_folder, code=REJECTED).stdout)
        self.assertRegex(self.ckpt('ls', self.run_folder).stdout, '20 .*1000.0 +TOO_NEW')
        self.ckpt('prune', self.run_folder, '--keep_last=1')
        self.assertTrue(os.path.exists(self.path(20)))

    def test_bad_input_no_permission(self):
        self.make(10)
        before = self.content(self.run_folder)
        os.chmod(self.run_folder, 0)

        def as_somebody(*words):
            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding='utf-8', check=False,
                                  preexec_fn=see_no_more_than_modes_say)

        try:
            if as_somebody('ls', self.run_folder).returncode == 0:
                self.skipTest('root sees everything here, and cannot help it')
            for verb, flags in FLAGS.items():
                done = as_somebody(CKPT, verb, self.run_folder, *flags)
                self.assertEqual(done.returncode, REJECTED, done.stdout + done.stderr)
                self.assertIn('ermission denied', done.stderr)
        finally:
            os.chmod(self.run_folder, 0o755)
        self.assertEqual(self.content(self.run_folder), before)

    def test_bad_input_being_written_right_now(self):
        self.make(10, 20)
        os.mkdir(os.path.join(self.run_folder, '.tmp-' + name_of(30)))
        with subprocess.Popen([MAKE_RUN, '--hold', self.run_folder], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as holder:
            self.assertEqual(holder.stdout.readline(), b'held\n')
            # The holder swept it: as if its own save had begun since.
            os.mkdir(os.path.join(self.run_folder, '.tmp-' + name_of(30)))
            before = self.content()
            for verb in ('ls', 'show', 'verify', 'missing'):
                self.ckpt(verb, self.run_folder)
            self.ckpt('diff', self.run_folder, self.path(20))
            self.ckpt('prune', self.run_folder, '--keep_last=1', '--dry_run')
            self.ckpt('repair', self.run_folder, '--dry_run')
            for words in (['prune', '--keep_last=1'], ['repair']):
                done = self.ckpt(*words, self.run_folder, code=BAD_REQUEST)
                self.assertIn('LOCKED', done.stderr)
                self.assertIn('pid ', done.stderr)
            self.assertEqual(self.content(), before)
            holder.stdin.close()
            holder.wait()

    def test_usage_is_told(self):
        for words in ([], ['sing'], ['ls', '--no_such_flag', 'x'], ['prune', 'x', '--keep_last']):
            done = self.ckpt(*words, code=USAGE)
            self.assertTrue(done.stderr)
        for verb in list(FLAGS) + ['diff']:
            self.assertIn('usage: ckpt ' + verb, self.ckpt(verb, '--help').stdout)
            self.ckpt(verb, code=BAD_REQUEST)
        self.ckpt('prune', self.folder, '--keep_last=0', code=BAD_REQUEST)
        self.ckpt('prune', self.folder, '--keep_last=many', code=BAD_REQUEST)
        self.ckpt('verify', self.folder, '--threads=0', code=BAD_REQUEST)

    def test_colours_are_for_terminals(self):
        self.make(10)
        environment = dict(os.environ, TERM='xterm')
        for no_color in (None, '1'):
            if no_color:
                environment['NO_COLOR'] = no_color
            text = self.on_terminal(80, environment, 'verify', self.run_folder)
            self.assertEqual(b'\x1b[32m' in text, no_color is None, text)

    def on_terminal(self, columns, environment, *words):
        """What a terminal of so many columns is sent."""
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        with subprocess.Popen([CKPT, *words], stdout=other, stderr=other, env=environment) as process:
            os.close(other)
            text = b''
            try:
                while True:
                    part = os.read(main, 4096)
                    if not part:
                        break
                    text += part
            except OSError:
                pass  # the other side was closed
            process.wait()
        os.close(main)
        return text

    def test_verify_shows_its_progress_on_a_terminal_within_its_width_and_takes_it_away(self):
        self.make(10)
        for columns in (120, 60, 30):
            text = self.on_terminal(columns, dict(os.environ, TERM='xterm'), 'verify', self.run_folder)
            # Lines of the bar, then blanks over the last of them, then the result.
            *bars, blank, result = text.split(b'\r')[:-1] if text.endswith(b'\r\n') else text.split(b'\r')
            bars = [bar for bar in bars if bar]
            self.assertTrue(bars, text)
            for bar in bars:
                self.assertTrue(bar.startswith(name_of(10).encode() + b' ['), text)
                self.assertLess(len(bar), columns)
            # A bar that is shorter than the one before it ends in blanks over the rest of that.
            self.assertEqual(blank.strip(b' '), b'')
            self.assertGreaterEqual(len(blank), len(bars[-1].rstrip(b' ')))
            self.assertLess(len(blank), columns)
            self.assertIn(b'whole', result)
        self.assertNotIn('[', self.ckpt('verify', self.run_folder).stderr)


if __name__ == '__main__':
    unittest.main()
