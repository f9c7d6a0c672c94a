"""Values of every type, statistics, numpy."""

import math
import struct
import unittest
from unittest import mock

import numpy
import reprise_reader
from files import VECTORS, real
from reprise_reader.tensor import DTYPES, Tensor

ODD = real(VECTORS) + 'valid/odd_tensors/checkpoint'


class TensorTest(unittest.TestCase):

    def test_values_of_each_type(self):
        for dtype, data, values in (
                ('f64', struct.pack('<2d', 0.1, -2), [0.1, -2.0]),
                ('f32', struct.pack('<f', 1.5), [1.5]),
                ('f16', bytes.fromhex('003c ff7b 0100'), [1.0, 65504.0, 2.0 ** -24]),
                ('bf16', bytes.fromhex('803f c0ff 0100'), [1.0, math.nan, 2.0 ** -133]),
                ('i64', bytes.fromhex('ffffffffffffff7f'), [2 ** 63 - 1]),
                ('u64', b'\xff' * 8, [2 ** 64 - 1]), ('i32', b'\xfe' + b'\xff' * 3, [-2]),
                ('u32', b'\x00\x00\x00\x80', [2 ** 31]), ('i16', b'\x00\x80', [-32768]),
                ('u16', b'\x01\x02', [513]), ('i8', b'\xff', [-1]), ('u8', b'\xff', [255]),
                ('bool', b'\x00\x01', [False, True]),
                ('f8e4m3fn', bytes.fromhex('38b8 7e01 ff80'),
                 [1.0, -1.0, 448.0, 2.0 ** -9, math.nan, -0.0]),
                ('f8e5m2', bytes.fromhex('3c7b 017d fc'),
                 [1.0, 57344.0, 2.0 ** -16, math.nan, -math.inf]),
                ('c64', struct.pack('<2f', 1.5, -2), [complex(1.5, -2)]),
                ('c128', struct.pack('<2d', 0.1, 3), [complex(0.1, 3)])):
            with self.subTest(dtype):
                tensor = Tensor('t', 'parameter', dtype, [len(values)], data)
                self.assertEqual(repr(tensor.values()), repr(values))
                self.assertEqual(repr(tensor.numpy().tolist()), repr(values))
                self.assertFalse(tensor.numpy().flags.writeable)
        self.assertEqual(len(DTYPES), 17)

    def test_pieces(self):
        tensor = Tensor('t', 'buffer', 'bf16', [4], bytes.fromhex('803f 0040 4040 8040'))
        self.assertEqual(tensor.values(1, 3), [2.0, 3.0])
        self.assertEqual(tensor.values(3, 99), [4.0])
        self.assertEqual(tensor.values(9), [])

    def test_statistics_leave_out_what_is_not_finite(self):
        values = [math.nan, math.inf, -math.inf, -0.0, 0.0, 3.0, -1.0]
        tensor = Tensor('t', 'buffer', 'f64', [7], struct.pack('<7d', *values))
        self.assertEqual(tensor.statistics(), {'elements': 7, 'nan': 1, 'inf': 2, 'zeros': 2,
                                               'min': -1.0, 'max': 3.0, 'mean': 0.5})

    def test_statistics_of_nothing_of_integers_and_of_huge_values(self):
        self.assertEqual(Tensor('t', 'buffer', 'f32', [0], b'').statistics()['mean'], None)
        whole = Tensor('t', 'buffer', 'u64', [2], b'\xff' * 16).statistics()
        self.assertEqual((whole['max'], whole['mean']), (2 ** 64 - 1, 2.0 ** 64))
        huge = Tensor('t', 'buffer', 'f64', [2], struct.pack('<2d', 1.5e308, 1.5e308))
        self.assertEqual(huge.statistics()['mean'], 1.5e308)

    def test_statistics_go_over_more_than_one_piece(self):
        count = 3 * 65536 + 5
        tensor = Tensor('t', 'buffer', 'u8', [count], b'\x02' * (count - 1) + b'\x07')
        found = tensor.statistics()
        self.assertEqual((found['min'], found['max'], found['zeros']), (2, 7, 0))
        self.assertAlmostEqual(found['mean'], 2 + 5 / count, places=12)

    def test_odd_tensors_of_the_vectors_come_back_bit_for_bit(self):
        tensors = reprise_reader.read(ODD).tensors
        self.assertEqual((tensors['scalar'].shape, tensors['scalar'].num_elements), ((), 1))
        self.assertEqual((tensors['nothing'].shape, tensors['nothing'].values()), ((3, 0, 2), []))
        odd = tensors['nan with payload, -0, denormal']
        self.assertTrue(math.isnan(odd.values()[0]))
        self.assertEqual(repr(odd.values()[1]), '-0.0')
        self.assertTrue(0 < abs(odd.values()[2]) < 2.0 ** -126)

    def test_numpy_gives_the_same_values(self):
        tensors = reprise_reader.read(ODD).tensors
        for tensor in tensors.values():
            with self.subTest(tensor.name):
                array = tensor.numpy()
                self.assertEqual(array.shape, tensor.shape)
                self.assertEqual(repr(array.ravel().tolist()), repr(tensor.values()))
                self.assertFalse(array.flags.writeable)

    def test_without_numpy_only_its_arrays_are_missing(self):
        with mock.patch.dict('sys.modules', {'numpy': None}):
            tensor = next(iter(reprise_reader.read(ODD).tensors.values()))
            self.assertTrue(tensor.values())
            with self.assertRaisesRegex(ImportError, 'numpy'):
                tensor.numpy()


if __name__ == '__main__':
    unittest.main()
