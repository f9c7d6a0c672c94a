"""The index of the vectors is right, and a file that is changed, new or gone is noticed."""

import os
import shutil
import tempfile
import unittest

import checksums

ROOT = 'spec/vectors'


class ChecksumsTest(unittest.TestCase):

    def test_every_vector_is_listed_and_unchanged(self):
        self.assertEqual(checksums.problems(ROOT), [],
                         'restore released vectors; list new ones: bazel run //spec/vectors:checksums')

    def test_there_are_enough_and_they_are_small(self):
        vectors = [name for name in checksums.sums(ROOT) if name.endswith('/expect.textproto')]
        self.assertGreaterEqual(len(vectors), checksums.MIN_VECTORS)
        total = sum(os.path.getsize(os.path.join(ROOT, name)) for name in checksums.sums(ROOT))
        self.assertLess(total, checksums.MAX_TOTAL_BYTES)

    def test_every_file_is_in_a_vector_that_says_what_is_expected(self):
        names = checksums.sums(ROOT)
        for name in names:
            parts = name.split('/')
            if parts[0] == 'algorithms' or name == 'v2/digests.tsv':
                continue
            folder = parts[:2] if parts[0] == 'migration' else parts[:3]
            self.assertIn('/'.join(folder + ['expect.textproto']), names, name)

    def test_each_kind_of_change_is_noticed(self):
        copy = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, copy)
        for name in list(checksums.sums(ROOT)) + [checksums.INDEX]:
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, name), os.path.join(copy, name))
        self.assertEqual(checksums.problems(copy), [])
        names = sorted(name for name in checksums.sums(copy) if name.endswith('.ckpt'))
        with open(os.path.join(copy, names[0]), 'ab') as file:
            file.write(b'x')
        os.unlink(os.path.join(copy, names[1]))
        with open(os.path.join(copy, 'v2', 'stray'), 'wb') as file:
            file.write(b'x')
        self.assertEqual(checksums.problems(copy),
                         [names[1] + ' is listed and not there', 'v2/stray is not listed',
                          names[0] + ' was changed'])


if __name__ == '__main__':
    unittest.main()
