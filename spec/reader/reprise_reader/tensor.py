"""A tensor of a checkpoint: dense, row-major, little-endian; as bytes, numbers or numpy array."""

import math
import struct

# Canonical name -> (bytes of an element, struct format, numpy type). bf16 has neither, nor have the
# types of 8 bits; a complex number is two of its parts.
DTYPES = {
    'f64': (8, 'd', '<f8'),
    'f32': (4, 'f', '<f4'),
    'f16': (2, 'e', '<f2'),
    'bf16': (2, None, None),
    'i64': (8, 'q', '<i8'),
    'u64': (8, 'Q', '<u8'),
    'i32': (4, 'i', '<i4'),
    'u32': (4, 'I', '<u4'),
    'i16': (2, 'h', '<i2'),
    'u16': (2, 'H', '<u2'),
    'i8': (1, 'b', '|i1'),
    'u8': (1, 'B', '|u1'),
    'bool': (1, '?', '|b1'),
    'f8e4m3fn': (1, None, None),
    'f8e5m2': (1, None, None),
    'c64': (8, 'ff', '<c8'),
    'c128': (16, 'dd', '<c16'),
}
FLOATING = ('f64', 'f32', 'f16', 'bf16', 'f8e4m3fn', 'f8e5m2')


def _f8e4m3fn(byte):
    """OCP 8-bit floating point with 4 bits of exponent: no infinities, one NaN of each sign."""
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (8 + mantissa) * 2.0**(exponent - 10)


class Tensor:
    """name, dtype ('f32'), shape (tuple of extents; () is a scalar), data (bytes).

    role: 'parameter', 'buffer' or 'moment'; in version 2 also 'master', 'gradient', 'ema', 'user'.
    order, stored: dimensions from the outermost in memory, and the bytes as they lie there; None and
    `data` where that is row-major by version.
    """

    def __init__(self, name, role, dtype, shape, data, order=None, stored=None):
        self.name = name
        self.role = role
        self.dtype = dtype
        self.shape = tuple(shape)
        self.data = data
        self.order = order
        self.stored = data if stored is None else stored

    def __repr__(self):
        return 'Tensor(%r, %s, %s%s)' % (self.name, self.role, self.dtype, list(self.shape))

    @property
    def num_elements(self):
        return len(self.data) // DTYPES[self.dtype][0]

    def values(self, start=0, stop=None):
        """Elements start to stop of the flat tensor as a list of float, int or bool."""
        size, code, _ = DTYPES[self.dtype]
        start, stop, _ = slice(start, stop).indices(self.num_elements)
        stop = max(start, stop)
        piece = self.data[start * size:stop * size]
        if self.dtype == 'f8e4m3fn':
            return [_f8e4m3fn(byte) for byte in piece]
        if self.dtype == 'f8e5m2':
            # The upper half of an f16.
            return list(struct.unpack('<%de' % (stop - start),
                                      b''.join(bytes((0, byte)) for byte in piece)))
        if self.dtype in ('c64', 'c128'):
            parts = struct.unpack('<%d%s' % (2 * (stop - start), code[0]), piece)
            return [complex(*pair) for pair in zip(parts[::2], parts[1::2])]
        if code is None:
            # The upper half of an f32.
            wide = bytearray(2 * len(piece))
            wide[2::4] = piece[0::2]
            wide[3::4] = piece[1::2]
            return list(struct.unpack('<%df' % (stop - start), wide))
        return list(struct.unpack('<%d%s' % (stop - start, code), piece))

    def numpy(self):
        """A read-only numpy array of the shape; what numpy has not (bf16, f8) as exact float32.

        Raises ImportError when numpy is not installed.
        """
        import numpy  # pylint: disable=import-outside-toplevel
        kind = DTYPES[self.dtype][2]
        if self.dtype in ('f8e4m3fn', 'f8e5m2'):
            array = numpy.array(self.values(), '<f4')
        elif kind is None:
            array = (numpy.frombuffer(self.data, '<u2').astype('<u4') << numpy.uint32(16)).view('<f4')
        else:
            array = numpy.frombuffer(self.data, kind)
        array.setflags(write=False)
        return array.reshape(self.shape)

    def statistics(self):
        """A dict: elements, nan, inf, zeros, and of the finite ones min, max, mean (or None).

        Complex numbers count by their magnitude.
        """
        floating = self.dtype in FLOATING + ('c64', 'c128')
        nan = inf = zeros = finite = 0
        low = high = None
        sums = []
        for start in range(0, self.num_elements, 1 << 16):
            values = self.values(start, start + (1 << 16))
            if self.dtype in ('c64', 'c128'):
                values = [abs(value) for value in values]
            if floating:
                count = len(values)
                kept = [v for v in values if not math.isnan(v)]
                nan += count - len(kept)
                values = [v for v in kept if not math.isinf(v)]
                inf += len(kept) - len(values)
            if not values:
                continue
            finite += len(values)
            zeros += values.count(0)
            least, most = min(values), max(values)
            low = least if low is None else min(low, least)
            high = most if high is None else max(high, most)
            # Scaled, so that a sum of large f64 stays finite.
            sums.append(math.fsum(v / self.num_elements for v in values) if floating else
                        sum(values))
        mean = None
        if finite:
            mean = math.fsum(sums) * (self.num_elements / finite) if floating else (
                sum(sums) / finite)
        return {'elements': self.num_elements, 'nan': nan, 'inf': inf, 'zeros': zeros,
                'min': low, 'max': high, 'mean': mean}
