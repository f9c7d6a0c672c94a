"""Fails when a released file changes, is missing or is not in the index."""

import os
import re
import shutil
import tempfile
import unittest

import released

FOLDER = 'spec/vectors/released'
VERSIONS = ['v1', 'v2']


class ReleasedTest(unittest.TestCase):

    def copy(self):
        """A copy of v1 to damage."""
        parent = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, parent)
        copy = os.path.join(parent, 'v1')
        shutil.copytree(os.path.join(FOLDER, 'v1'), copy)
        for path, _, names in os.walk(copy):
            for name in names:
                os.chmod(os.path.join(path, name), 0o644)
        return copy

    def files(self, copy):
        return sorted(os.path.join(path, name) for path, _, names in os.walk(copy)
                      for name in names if name != released.INDEX)

    def test_released_files_are_what_they_were(self):
        for version in VERSIONS:
            self.assertEqual(released.problems(os.path.join(FOLDER, version)), [])

    def test_readme_tells_of_every_entry_and_of_no_other(self):
        with open(os.path.join(FOLDER, 'README.md'), encoding='utf-8') as file:
            told = re.findall(r'^\| `([a-z0-9-]+)` \|', file.read(), re.MULTILINE)
        there = [name for version in VERSIONS
                 for name in os.listdir(os.path.join(FOLDER, version))
                 if os.path.isdir(os.path.join(FOLDER, version, name))]
        self.assertEqual(sorted(told), sorted(there))

    def test_one_changed_bit_of_any_file_is_seen(self):
        copy = self.copy()
        for path in self.files(copy):
            with open(path, 'r+b') as file:
                file.seek(-1, os.SEEK_END)
                last = file.read(1)[0]
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last ^ 1]))
            found = released.problems(copy)
            self.assertEqual(len(found), 1, path)
            self.assertIn(os.path.relpath(path, copy), found[0])
            with open(path, 'r+b') as file:
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last]))
        self.assertEqual(released.problems(copy), [])

    def test_missing_file_is_seen(self):
        copy = self.copy()
        os.remove(self.files(copy)[0])
        self.assertRegex('\n'.join(released.problems(copy)), 'not there')

    def test_unlisted_file_is_seen(self):
        copy = self.copy()
        with open(os.path.join(copy, 'stranger.txt'), 'w', encoding='ascii') as file:
            file.write('x')
        self.assertRegex('\n'.join(released.problems(copy)), 'stranger.txt: not in SHA256SUMS')

    def test_large_file_and_large_corpus_are_seen(self):
        copy = self.copy()
        with open(os.path.join(copy, 'large'), 'wb') as file:
            file.write(bytes(released.MAX_TOTAL_BYTES))
        found = '\n'.join(released.problems(copy))
        self.assertRegex(found, 'large: expected at most 65536 bytes')
        self.assertRegex(found, 'bytes together')


if __name__ == '__main__':
    unittest.main()
