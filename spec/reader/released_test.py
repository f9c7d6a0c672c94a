"""Every released checkpoint verifies, with the tensors that the C++ library reads."""

import glob
import subprocess
import unittest

import reprise_reader
import xxhash
from files import real
from reprise_reader import run_folder

ENTRIES = sorted(glob.glob(real('spec/vectors/released/v1') + '*/'))
DUMP = 'spec/reader/testing/dump_tensors'


def as_the_library_prints(checkpoint):
    tensors = [t for t in checkpoint.tensors.values() if t.role != 'moment']
    lines = ['manifest ' + checkpoint.manifest_digest.hex()]
    for tensor in tensors + list(checkpoint.moments.values()):
        lines.append('%s %s %s %s %s' % (
            tensor.role, tensor.name, tensor.dtype, ','.join(map(str, tensor.shape)) or '-',
            xxhash.xxh3_128_hexdigest(tensor.data)))
    return lines


class ReleasedTest(unittest.TestCase):

    def test_entries_are_there(self):
        self.assertGreaterEqual(len(ENTRIES), 11)

    def test_each_entry_equals_what_the_library_reads(self):
        for entry in ENTRIES:
            with self.subTest(entry):
                folder, = glob.glob(entry + 'step-*')
                checkpoint = reprise_reader.read(folder)
                found = subprocess.run([DUMP, folder], check=True, stdout=subprocess.PIPE)
                library = found.stdout.decode().splitlines()
                self.assertGreater(len(library), 10)
                self.assertEqual(as_the_library_prints(checkpoint), library)

    def test_each_entry_is_the_newest_of_its_run_folder(self):
        for entry in ENTRIES:
            with self.subTest(entry):
                found = run_folder.survey(entry)
                self.assertEqual([e.refused for e in found.entries], [None])
                self.assertEqual(found.newest.step, found.entries[0].step)


if __name__ == '__main__':
    unittest.main()
