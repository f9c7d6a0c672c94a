"""Every verb of ckpt, and ckpt_migrate, with everything that can be wrong about what it is given.

One table: a row is an input, a column a verb, a cell the exit code of spec/SPEC.md. In every cell the
program says in words what is wrong, with --json also in an ErrorReport, and a digest of the whole tree
(names, modes, bytes) is the same before and after. Where a verb has something to do with damage, which is
`prune` and `repair` of a run with a damaged checkpoint, the digest is of the checkpoints.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess
import tempfile
import unittest
import zlib

CKPT = 'tools/ckpt/ckpt'
MIGRATE = 'tools/ckpt_migrate/ckpt_migrate'
MAKE_RUN = 'tools/ckpt/make_run'
FIXTURES = 'format/interop/fixtures'
STEP = 'step-%012d' % 10
DONE, BAD_REQUEST, REJECTED = 0, 2, 11


def see_no_more_than_modes_say():
    """Takes from root the power to pass over permissions; programs started after it have it no more."""
    cap_dac_override, cap_dac_read_search, pr_capbset_drop = 1, 2, 24
    libc = ctypes.CDLL(None)
    for capability in (cap_dac_override, cap_dac_read_search):
        libc.prctl(pr_capbset_drop, capability, 0, 0, 0)


def change(path, how):
    """Replaces a read-only file by a changed one of the same mode."""
    with open(path, 'rb') as file:
        data = file.read()
    mode = os.stat(path).st_mode
    os.unlink(path)
    with open(path, 'wb') as file:
        file.write(how(data))
    os.chmod(path, stat.S_IMODE(mode))


def flipped(data, at=200):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def content(path):
    """Digest of everything below, and of `path` itself: names, modes, bytes."""
    digest = hashlib.sha256()

    def add(name):
        mode = os.lstat(name).st_mode
        digest.update(('%s %o\n' % (os.path.relpath(name, path), mode)).encode())
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return
        # What nobody may read is read here all the same, root or not.
        os.chmod(name, stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IXUSR)
        try:
            if stat.S_ISDIR(mode):
                for entry in sorted(os.listdir(name)):
                    add(os.path.join(name, entry))
            else:
                with open(name, 'rb') as file:
                    digest.update(file.read())
        finally:
            os.chmod(name, stat.S_IMODE(mode))

    add(path)
    return digest.hexdigest()


class Inputs:
    """What is given to the verbs: each makes it in an empty folder and returns its path."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *steps):
        path = os.path.join(self.folder, 'run')
        subprocess.run([MAKE_RUN, path, '2', *map(str, steps or (10,))], check=True)
        return path

    def missing_path(self):
        return os.path.join(self.folder, 'nothing')

    def empty_folder(self):
        path = os.path.join(self.folder, 'empty')
        os.mkdir(path)
        return path

    def folder_of_other_files(self):
        path = self.empty_folder()
        with open(os.path.join(path, 'notes.txt'), 'w', encoding='utf-8') as file:
            file.write('a folder of mine')
        return path

    def text_file(self):
        path = os.path.join(self.folder, 'notes.txt')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('hello there')
        return path

    def empty_file(self):
        path = os.path.join(self.folder, 'nothing.pt')
        with open(path, 'wb'):
            pass
        return path

    def torch_file(self):
        path = os.path.join(self.folder, 'everything.pt')
        shutil.copy(os.path.join(FIXTURES, 'everything.pt'), path)
        return path

    def other_file_under_our_name(self):
        path = os.path.join(self.folder, STEP)
        os.mkdir(path)
        shutil.copy(os.path.join(FIXTURES, 'everything.pt'), os.path.join(path, 'manifest.ckpt'))
        return path

    def manifest_itself(self):
        return os.path.join(self.run(), STEP, 'manifest.ckpt')

    def truncated_manifest(self):
        path = self.run()
        change(os.path.join(path, STEP, 'manifest.ckpt'), lambda data: data[:-1])
        return path

    def truncated_checkpoint(self):
        return os.path.join(self.truncated_manifest(), STEP)

    def truncated_shard(self):
        path = self.run()
        change(os.path.join(path, STEP, 'shard-0000-0000.bin'), lambda data: data[:-1])
        return path

    def flipped_manifest(self):
        path = self.run()
        change(os.path.join(path, STEP, 'manifest.ckpt'), flipped)
        return path

    def flipped_checkpoint(self):
        return os.path.join(self.flipped_manifest(), STEP)

    def flipped_shard(self):
        path = self.run()
        change(os.path.join(path, STEP, 'shard-0000-0000.bin'), lambda data: flipped(data, 0))
        return path

    def missing_shard(self):
        path = self.run()
        os.unlink(os.path.join(path, STEP, 'shard-0000-0000.bin'))
        return path

    def newer_format(self):
        path = self.run()
        newer = b'\xd2RPR\r\n\x1a\n' + struct.pack('<II', 48, 1000) + bytes(28)
        newer += struct.pack('<I', zlib.crc32(newer))
        change(os.path.join(path, STEP, 'manifest.ckpt'), lambda data: newer)
        return path

    def no_permission_for_the_folder(self):
        path = self.run()
        os.chmod(path, 0)
        return path

    def no_permission_for_the_checkpoint(self):
        path = self.run()
        os.chmod(os.path.join(path, STEP), 0)
        return path

    def no_permission_for_the_manifest(self):
        path = self.run()
        os.chmod(os.path.join(path, STEP, 'manifest.ckpt'), 0)
        return path

    def first_save_right_now(self):
        path = os.path.join(self.folder, 'run')
        os.makedirs(os.path.join(path, '.tmp-' + STEP))
        return path

    def save_right_now(self):
        path = self.run(10, 20)
        os.mkdir(os.path.join(path, '.tmp-step-%012d' % 30))
        return path


VERBS = ['ls', 'show', 'verify', 'diff', 'missing', 'prune', 'repair', 'export', 'import', 'migrate']


def row(code, **others):
    """The code of every verb, but for those that are named."""
    return dict(dict.fromkeys(VERBS, code), **others)


# A listing lists what is damaged too, and what keeps a run in order leaves it alone.
DAMAGED_IN_A_RUN = row(REJECTED, ls=DONE, prune=DONE, repair=DONE)
# These three take a run.
DAMAGED_ITSELF = row(REJECTED, ls=BAD_REQUEST, prune=BAD_REQUEST, repair=BAD_REQUEST)
NO_FILE = {'import': REJECTED}
TABLE = {
    'missing_path': row(BAD_REQUEST),
    'empty_folder': row(BAD_REQUEST, **NO_FILE),
    'folder_of_other_files': row(BAD_REQUEST, **NO_FILE),
    'text_file': row(REJECTED),
    'empty_file': row(REJECTED),
    'torch_file': row(REJECTED),
    'other_file_under_our_name': DAMAGED_ITSELF,
    'manifest_itself': row(REJECTED),
    'truncated_manifest': DAMAGED_IN_A_RUN,
    'truncated_checkpoint': DAMAGED_ITSELF,
    'truncated_shard': DAMAGED_IN_A_RUN,
    'flipped_manifest': DAMAGED_IN_A_RUN,
    'flipped_checkpoint': DAMAGED_ITSELF,
    # show and missing read the manifest, renaming links the tensors: none of them reads a shard.
    'flipped_shard': dict(DAMAGED_IN_A_RUN, show=DONE, missing=DONE, migrate=DONE),
    'missing_shard': DAMAGED_IN_A_RUN,
    'newer_format': DAMAGED_IN_A_RUN,
    'no_permission_for_the_folder': row(REJECTED),
    'no_permission_for_the_checkpoint': DAMAGED_IN_A_RUN,
    'no_permission_for_the_manifest': DAMAGED_IN_A_RUN,
    'first_save_right_now': row(BAD_REQUEST, **NO_FILE),
    'save_right_now': row(DONE, prune=BAD_REQUEST, repair=BAD_REQUEST, migrate=BAD_REQUEST, **NO_FILE),
}
# What is said, beside the path: a word of each row that is refused.
SAYS = {
    'missing_path': 'ABSENT', 'empty_folder': 'ABSENT|an empty folder|not a regular file',
    'folder_of_other_files': 'ABSENT|not a regular file', 'text_file': 'NOT_A_CHECKPOINT.*text file',
    'empty_file': 'an empty file|TRUNCATED', 'torch_file': 'zip archive|model.params',
    'other_file_under_our_name': 'zip archive|name the folder|not a regular file',
    'manifest_itself': 'name the folder|expected a zip archive',
    'truncated_manifest': 'TRUNCATED|not a regular file',
    'truncated_checkpoint': 'TRUNCATED|name the folder|not a regular file',
    'truncated_shard': 'TRUNCATED|not a regular file', 'flipped_manifest': 'CORRUPT|not a regular file',
    'flipped_checkpoint': 'CORRUPT|name the folder|not a regular file',
    'flipped_shard': 'damaged in bytes|not a regular file', 'missing_shard': 'not there|not a regular file',
    'newer_format': 'TOO_NEW|not a regular file', 'no_permission_for_the_folder': 'ermission denied',
    'no_permission_for_the_checkpoint': 'ermission denied|not a regular file',
    'no_permission_for_the_manifest': 'ermission denied|not a regular file',
    'first_save_right_now': 'ABSENT|LOCKED|not a regular file', 'save_right_now': 'LOCKED|not a regular file',
}


def words(verb, path, whole, out):
    if verb == 'migrate':
        return [MIGRATE, path, '--rename=^fc\\. -> head_of.', '--out=' + os.path.join(out, 'new')]
    return [CKPT, verb] + {
        'diff': [path, whole],
        'prune': [path, '--keep_last=1'],
        'export': [path, '--out', os.path.join(out, 'a.pt')],
        'import': [path, '--out', os.path.join(out, 'new')],
    }.get(verb, [path])


class BadInputTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(self.remove)
        whole = os.path.join(self.folder, 'whole')
        os.mkdir(whole)
        self.whole = Inputs(whole).run()

    def remove(self):
        subprocess.run(['chmod', '-R', 'u+rwx', self.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, name):
        """The input of that name, in a folder of its own, and an empty folder for what comes out."""
        place = tempfile.mkdtemp(dir=self.folder)
        out = tempfile.mkdtemp(dir=self.folder)
        return place, getattr(Inputs(place), name)(), out

    def run_program(self, *command):
        environment = {k: v for k, v in os.environ.items() if k != 'BUILD_WORKING_DIRECTORY'}
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8',
                              env=environment, timeout=60, check=False,
                              preexec_fn=see_no_more_than_modes_say)

    def permissions_count(self):
        place, path, _ = self.make('no_permission_for_the_folder')
        sees = self.run_program('ls', path).returncode == 0
        subprocess.run(['chmod', '-R', 'u+rwx', place], check=True)
        return not sees

    def check(self, name, verb, code):
        place, path, out = self.make(name)
        held = None
        if name.endswith('right_now'):
            held = open(os.path.join(path, 'lock'), 'w+b')  # pylint: disable=consider-using-with
            self.addCleanup(held.close)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = content(place)
        checkpoints = [content(os.path.join(path, step)) for step in self.steps(path)]
        command = words(verb, path, self.whole, out)
        commands = [command + more for more in ([], ['--json'])]
        if verb == 'diff':
            # Either side may be the bad one.
            commands.append([CKPT, verb, self.whole, path])
        for command in commands:
            done = self.run_program(*command)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertNotIn('\x1b', done.stdout + done.stderr)
            if code == DONE:
                if command[-1] == '--json':
                    json.loads(done.stdout)
                shutil.rmtree(out)
                os.mkdir(out)
            else:
                program = 'ckpt_migrate' if verb == 'migrate' else 'ckpt ' + verb
                self.assertRegex(done.stderr, r'(?m)^%s: .*(%s)' % (program, SAYS[name]))
                self.assertNotRegex(done.stderr, 'terminate|Check failed|errno 20')
                self.assertEqual(os.listdir(out), [])
                if command[-1] == '--json':
                    # After what a verb that looks at several things found out.
                    last = json.loads('{' + done.stdout.rsplit('\n{', 1)[-1].lstrip('{'))
                    self.assertEqual(last['exitCode'], code)
                    self.assertTrue(last['error' if verb == 'migrate' else 'message'])
        if verb in ('prune', 'repair') and code == DONE:
            self.assertEqual([content(os.path.join(path, step)) for step in self.steps(path)],
                             checkpoints)
        else:
            self.assertEqual(content(place), before)
        if held:
            held.close()

    def steps(self, path):
        try:
            return sorted(name for name in os.listdir(path) if name.startswith('step-'))
        except OSError:
            return []

    # Rules: EXIT-1
    def test_C26_every_verb_with_every_bad_input(self):
        names = [name for name in vars(Inputs) if name[0] != '_' and name != 'run']
        self.assertEqual(sorted(TABLE), sorted(names))
        permissions = self.permissions_count()
        cells = 0
        for name, codes in TABLE.items():
            if name.startswith('no_permission') and not permissions:
                print('%s: not run, root sees everything here and cannot help it' % name)
                continue
            self.assertEqual(sorted(codes), sorted(VERBS))
            for verb, code in codes.items():
                with self.subTest(input=name, verb=verb):
                    self.check(name, verb, code)
                cells += 1
        print('%d of %d cells' % (cells, len(TABLE) * len(VERBS)))

    def test_table_has_every_verb_of_the_program(self):
        told = self.run_program(CKPT, '--help').stdout
        verbs = [line.split()[0] for line in told.splitlines() if line.startswith('  ')]
        self.assertEqual(sorted(verbs), sorted(v for v in VERBS if v != 'migrate'))


if __name__ == '__main__':
    unittest.main()
