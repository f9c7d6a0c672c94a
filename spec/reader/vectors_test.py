"""The reader says to every vector of spec/vectors/v1 what its expect.textproto says."""

import unittest

import reprise_reader
from files import VECTORS, expectations, load, real, tensor_differences
from reprise_reader import migrate
from reprise_reader.schema import vocabulary_pb2 as vocabulary

VECTORS = real(VECTORS)


def folder(path):
    return VECTORS + path + '/checkpoint'


class VectorsTest(unittest.TestCase):

    def setUp(self):
        self.vectors = expectations(VECTORS)
        self.valid = {path: v.valid for path, v in self.vectors.items() if v.HasField('valid')}
        self.refused = {path: v for path, v in self.vectors.items() if v.HasField('refused')}

    def test_there_are_right_and_wrong_ones(self):
        self.assertEqual(len(self.valid) + len(self.refused), len(self.vectors))
        self.assertGreaterEqual(len(self.valid), 8)
        names = {vocabulary.Refusal.Name(v.refused.refusal) for v in self.refused.values()}
        self.assertLessEqual({'CORRUPT', 'TRUNCATED', 'TOO_NEW', 'NOT_A_CHECKPOINT',
                              'MISSING_ITEM', 'INVALID_VALUE', 'LIMIT'}, names)

    def test_each_valid_one_has_the_expected_tensors_and_digests(self):
        for path, expected in self.valid.items():
            with self.subTest(path):
                read = reprise_reader.read(folder(path))
                self.assertEqual((read.major, read.step, read.micro_step),
                                 (1, expected.step, expected.micro_step))
                self.assertEqual(tensor_differences(expected.tensor, read), [])
                self.assertEqual(migrate.to_v2(read).value_digest.hex(), expected.value_digest)

    def test_each_invalid_one_is_refused_by_name_and_text(self):
        for path, vector in self.refused.items():
            with self.subTest(path, rules=vector.rule):
                with self.assertRaises(reprise_reader.Refused) as raised:
                    reprise_reader.read(folder(path))
                self.assertEqual(raised.exception.refusal,
                                 vocabulary.Refusal.Name(vector.refused.refusal))
                self.assertIn(vector.refused.text, str(raised.exception))
                self.assertEqual(raised.exception.path, folder(path) + '/manifest.ckpt')

    def test_reading_memory_says_the_same_as_reading_the_file(self):
        for path, vector in self.vectors.items():
            with self.subTest(path):
                try:
                    reprise_reader.read_bytes(load(folder(path) + '/manifest.ckpt'))
                    found = 0
                except reprise_reader.Refused as refused:
                    found = vocabulary.Refusal.Value(refused.refusal)
                self.assertEqual(found, vector.refused.refusal)

    def test_values_of_the_small_file(self):
        checkpoint = reprise_reader.read(folder('valid/small'))
        self.assertEqual(checkpoint.step, 60)
        self.assertEqual(checkpoint.run_id, '0123456789abcdef' * 2)
        self.assertEqual((checkpoint.attempt, checkpoint.parent), (1, None))
        self.assertEqual(len(checkpoint.inventory), 30)
        self.assertEqual(checkpoint.presence('rng.cuda'), 'NOT_APPLICABLE')
        self.assertIsNone(checkpoint.presence('ema.weights'))
        self.assertEqual(checkpoint.tensors['fc.weight:exp_avg'].values(), [30.0] * 6)
        self.assertEqual(checkpoint.message.scaler.scale, 65536.0)

    def test_parent_of_the_resumed_file(self):
        checkpoint = reprise_reader.read(folder('valid/resumed'))
        self.assertGreater(checkpoint.attempt, 1)
        self.assertEqual(len(checkpoint.parent[1]), 16)


if __name__ == '__main__':
    unittest.main()
