"""The reader says of every vector of spec/vectors/v2 what the C++ library says."""

import os
import shutil
import tempfile
import unittest

import reprise_reader
from files import expectations, tensor_differences
from reprise_reader import reading
from reprise_reader.schema import vocabulary_pb2 as vocabulary
from reprise_reader.v2 import reader

VECTORS = 'spec/vectors/v2'


def refusal_of(call, *arguments):
    """(refusal or None, result)"""
    try:
        return None, call(*arguments)
    except reprise_reader.Refused as refused:
        return refused.refusal, None


class VectorsTest(unittest.TestCase):
    """Every folder with an expect.textproto."""

    def setUp(self):
        self.vectors = expectations(VECTORS)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self, path):
        """The test sees files of the source tree as links, which the reader refuses."""
        copy = os.path.join(self.folder, path.replace("/", "-"))
        shutil.copytree(os.path.join(VECTORS, path, "checkpoint"), copy)
        return copy

    # Rules: VALUE-2
    def test_both_readers_agree_on_every_vector(self):
        self.assertGreaterEqual(len(self.vectors), 150)
        for path, vector in self.vectors.items():
            with self.subTest(path):
                folder = self.copy(path)
                refusal, read = refusal_of(reprise_reader.read, folder)
                if vector.HasField("refused"):
                    name = vocabulary.Refusal.Name(vector.refused.refusal)
                    self.assertEqual(refusal, name)
                    continue
                self.assertIsNone(refusal)
                self.assertEqual((read.step, read.micro_step),
                                 (vector.valid.step, vector.valid.micro_step))
                self.assertEqual(read.value_digest.hex(), vector.valid.value_digest)
                self.assertEqual(tensor_differences(vector.valid.tensor, read), [])
                refusal, _ = refusal_of(reading.verify, folder)
                expected = vector.valid.verification
                self.assertEqual(refusal, vocabulary.Refusal.Name(expected) if expected else None)

    def test_channels_last_is_given_row_major_too(self):
        tensor = reprise_reader.read(self.copy('valid/channels_last')).tensors['w']
        self.assertEqual(tensor.order, (0, 2, 3, 1))
        self.assertEqual(tensor.stored, b'0123456789ab')
        # Element (0, c, h, w) lies at ((h * 2 + w) * 2 + c).
        self.assertEqual(tensor.data, b'02468a13579b')

    def test_small_floats(self):
        tensors = reprise_reader.read(self.copy('valid/every_dtype')).tensors
        # Bytes ff da b5: NaN, -20, -0.8125; and NaN, -192, -0.3125.
        values = tensors['user:f8e4m3fn'].values()
        self.assertEqual(values[1:], [-20.0, -0.8125])
        values = tensors['user:f8e5m2'].values()
        self.assertEqual(values[1:], [-192.0, -0.3125])
        self.assertIsInstance(tensors['user:c64'].values()[0], complex)

    # Rules: DIGEST-2
    def test_root_digests(self):
        with open(f"{VECTORS}/digests.tsv", encoding="ascii") as file:
            lines = [line.split() for line in file if not line.startswith("#")]
        self.assertGreaterEqual(len(lines), 10)
        for size, root in lines:
            data = bytes((i * 131 + i // 256) & 255 for i in range(int(size)))
            found = reader.root_digest(len(data), reader.chunk_digests(data))
            self.assertEqual(found.hex(), root, size)

    def test_links_and_other_names_are_refused(self):
        folder = self.copy("valid/smallest")
        link = os.path.join(self.folder, "link")
        os.symlink(folder, link)
        self.assertEqual(refusal_of(reprise_reader.read, link)[0], "NOT_A_CHECKPOINT")
        self.assertEqual(refusal_of(reprise_reader.read, folder + "x")[0], "ABSENT")
        renamed = os.path.join(self.folder, "step-000000000002")
        os.rename(folder, renamed)
        self.assertEqual(refusal_of(reprise_reader.read, renamed)[0], "MISMATCH")
        os.rename(renamed, os.path.join(self.folder, "step-000000000001"))
        right = os.path.join(self.folder, "step-000000000001")
        self.assertEqual(refusal_of(reading.verify, right)[0], None)
        shard = os.path.join(right, "shard-0000-0000.bin")
        os.rename(shard, shard + ".moved")
        os.mkfifo(shard)
        self.assertEqual(refusal_of(reprise_reader.read, right)[0], "NOT_A_CHECKPOINT")


if __name__ == "__main__":
    unittest.main()
