"""The released vectors against reference.py, and reference.py against facts."""

import os
import unittest

import reference

# Values of LibTorch's own that reference.py does not draw a second time.
_LIBTORCH_ONLY = ['torch-default-v1-resnet18']

_HERE = os.path.dirname(os.path.abspath(__file__))


def released(name):
    with open(os.path.join(_HERE, name + '.txt'), encoding='ascii') as file:
        return file.read().splitlines()


class ReferenceTest(unittest.TestCase):

    def test_reproduces_every_released_file(self):
        self.maxDiff = None
        names = sorted(f[:-len('.txt')] for f in os.listdir(_HERE) if f.endswith('.txt'))
        self.assertEqual(names, sorted(list(reference.FILES) + _LIBTORCH_ONLY))
        for name, lines in reference.FILES.items():
            with self.subTest(name):
                self.assertEqual(released(name), '\n'.join(lines()).split('\n'))

    def test_feistel_is_a_bijection(self):
        for size in list(range(1, 70)) + [255, 256, 257, 1003]:
            values = sorted(reference.feistel(size, 9, 4, i) for i in range(size))
            self.assertEqual(values, list(range(size)))

    def test_cos_pi_is_the_cosine(self):
        import math
        for i in range(1001):
            t = i / 1000
            # math.cos is handed pi * t already rounded, which costs up to 3e-16.
            self.assertAlmostEqual(reference.cos_pi(t), math.cos(math.pi * t), delta=5e-16)

    def test_philox_known_answers_of_random123(self):
        self.assertEqual(
            reference.philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
                             [0xA4093822, 0x299F31D0]),
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])

    def test_augmentation_moves_and_mirrors(self):
        image = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        self.assertEqual(reference.augment(image, 3, 3, 1, 0, 0), [[0, 1, 2], [0, 4, 5], [0, 7, 8]])
        self.assertEqual(reference.augment(image, 3, 3, 0, -1, 1), [[6, 5, 4], [9, 8, 7], [0, 0, 0]])


if __name__ == '__main__':
    unittest.main()
