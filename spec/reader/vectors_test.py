"""The reader says to every vector of spec/vectors/v1 what the index says."""

import unittest

import reprise_reader
from files import VECTORS, load, real

VECTORS = real(VECTORS)


def index():
    with open(VECTORS + 'index.tsv', encoding='utf-8') as file:
        lines = file.read().splitlines()
    assert lines[0] == 'file\toutcome\trules\ttext', lines[0]
    return [line.split('\t') for line in lines[1:]]


class VectorsTest(unittest.TestCase):

    def test_index_has_right_and_wrong_files(self):
        outcomes = {outcome for _, outcome, _, _ in index()}
        self.assertLessEqual({'VALID', 'CORRUPT', 'TRUNCATED', 'TOO_NEW', 'NOT_A_CHECKPOINT',
                              'MISSING_ITEM', 'INVALID_VALUE', 'LIMIT'}, outcomes)

    def test_each_valid_file_is_read(self):
        for name, outcome, _, _ in index():
            if outcome == 'VALID':
                with self.subTest(name):
                    self.assertEqual(reprise_reader.read(VECTORS + name).major, 1)

    def test_each_invalid_file_is_refused_by_name_and_text(self):
        for name, outcome, rules, text in index():
            if outcome != 'VALID':
                with self.subTest(name, rules=rules):
                    with self.assertRaises(reprise_reader.Refused) as raised:
                        reprise_reader.read(VECTORS + name)
                    self.assertEqual(raised.exception.refusal, outcome)
                    self.assertIn(text, str(raised.exception))
                    self.assertEqual(raised.exception.path, VECTORS + name)

    def test_reading_memory_says_the_same_as_reading_the_file(self):
        for name, outcome, _, _ in index():
            with self.subTest(name):
                try:
                    reprise_reader.read_bytes(load(VECTORS + name))
                    found = 'VALID'
                except reprise_reader.Refused as refused:
                    found = refused.refusal
                self.assertEqual(found, outcome)

    def test_values_of_the_small_file(self):
        checkpoint = reprise_reader.read(VECTORS + 'valid/small.ckpt')
        self.assertEqual(checkpoint.step, 60)
        self.assertEqual(checkpoint.run_id, '0123456789abcdef' * 2)
        self.assertEqual((checkpoint.attempt, checkpoint.parent), (1, None))
        self.assertEqual(len(checkpoint.inventory), 30)
        self.assertEqual(checkpoint.presence('rng.cuda'), 'NOT_APPLICABLE')
        self.assertIsNone(checkpoint.presence('ema.weights'))
        self.assertEqual(checkpoint.tensors['fc.weight:exp_avg'].values(), [30.0] * 6)
        self.assertEqual(checkpoint.message.scaler.scale, 65536.0)

    def test_parent_of_the_resumed_file(self):
        checkpoint = reprise_reader.read(VECTORS + 'valid/resumed.ckpt')
        self.assertGreater(checkpoint.attempt, 1)
        self.assertEqual(len(checkpoint.parent[1]), 16)


if __name__ == '__main__':
    unittest.main()
