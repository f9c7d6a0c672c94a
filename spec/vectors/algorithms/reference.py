"""spec/ALGORITHMS.md in Python: written from its text, standard library only.

`python3 reference.py NAME` prints the lines of NAME.txt. The files are released:
an algorithm that gives other values is another algorithm and takes a new id and
a new file.
"""

import struct
import sys

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
PI = 3.141592653589793

AUGMENTATION, SYNTHETIC_SAMPLE, SYNTHETIC_PATTERN = 1, 2, 3


def mix64(z):
    z &= M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def key_of(seed, *words):
    key = mix64(seed + GOLDEN)
    for word in words:
        key = mix64(key + word)
    return key


def feistel(size, seed, epoch, index):
    h = max(1, ((size - 1).bit_length() + 1) // 2)
    key = key_of(seed, epoch)
    round_keys = [mix64(key + (r + 1) * GOLDEN) for r in range(10)]
    value = index
    while True:
        left, right = value >> h, value & ((1 << h) - 1)
        for k in round_keys:
            left, right = right, left ^ (mix64(right + k) >> (64 - h))
        value = (left << h) | right
        if value < size:
            return value


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & M32, (p0 >> 32) ^ c3 ^ k1, p0 & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return [c0, c1, c2, c3]


class Stream:

    def __init__(self, seed, purpose, epoch, sample):
        key = key_of(seed, purpose, epoch)
        self.key = [key & M32, key >> 32]
        self.sample = sample
        self.taken = 0

    def u32(self):
        block, word = divmod(self.taken, 4)
        self.taken += 1
        counter = [block & M32, block >> 32, self.sample & M32, self.sample >> 32]
        return philox(counter, self.key)[word]

    def u64(self):
        low = self.u32()
        return low | self.u32() << 32

    def below(self, bound):
        while True:
            product = self.u32() * bound
            if (product & M32) >= (1 << 32) % bound:
                return product >> 32

    def double(self):
        return (self.u64() >> 11) / float(1 << 53)


def cos_pi(t):
    if t > 0.5:
        return -cos_pi(1.0 - t)
    if t > 0.25:
        x = PI * (0.5 - t)
        z = x * x
        s = 1.0
        for k in range(8, 0, -1):
            s = 1.0 - z / float((2 * k) * (2 * k + 1)) * s
        return x * s
    x = PI * t
    z = x * x
    s = 1.0
    for k in range(8, 0, -1):
        s = 1.0 - z / float((2 * k - 1) * (2 * k)) * s
    return s


def warmup_cosine(warmup, horizon, final, position):
    if position < warmup:
        return float(position + 1) / float(warmup)
    if position >= horizon:
        return final
    t = float(position - warmup) / float(horizon - warmup)
    return final + (1.0 - final) * (0.5 * (1.0 + cos_pi(t)))


def shift2_flip(seed, epoch, sample):
    stream = Stream(seed, AUGMENTATION, epoch, sample)
    dx = stream.below(5) - 2
    dy = stream.below(5) - 2
    return dx, dy, stream.below(2)


def augment(image, height, width, dx, dy, mirror):
    """Rows of bytes in, rows of bytes out."""
    out = []
    for y in range(height):
        row = []
        for x in range(width):
            sy, sx = y - dy, x - dx
            inside = 0 <= sy < height and 0 <= sx < width
            row.append(image[sy][width - 1 - sx if mirror else sx] if inside else 0)
        out.append(row)
    return out


def synthetic(size, seed, split, height=28, width=28, classes=10):
    """Yields (label, rows of bytes)."""
    patterns = []
    for c in range(classes):
        stream = Stream(seed, SYNTHETIC_PATTERN, 0, c)
        across = (width + 3) // 4
        patterns.append([[stream.below(2) for _ in range(across)]
                         for _ in range((height + 3) // 4)])
    for i in range(size):
        stream = Stream(seed, SYNTHETIC_SAMPLE, split, i)
        label = stream.below(classes)
        dx = stream.below(5) - 2
        dy = stream.below(5) - 2
        rows = []
        word = bytes_left = 0
        for y in range(height):
            row = []
            for x in range(width):
                if bytes_left == 0:
                    word, bytes_left = stream.u32(), 4
                noise, word, bytes_left = word & 255, word >> 8, bytes_left - 1
                sy, sx = y - dy, x - dx
                lit = (0 <= sy < height and 0 <= sx < width and
                       patterns[label][sy // 4][sx // 4])
                row.append((96 if lit else 0) + noise * 5 // 8)
            rows.append(row)
        yield label, rows


def bits(x):
    return '%016x' % struct.unpack('>Q', struct.pack('>d', x))


_HEADER = """# {name}: vectors of spec/ALGORITHMS.md. Released: never edited. An algorithm
# that gives other values is another algorithm, with a new id and a new file.
# {columns}"""

_SEEDS = [0, 1, 2, 0x0123456789ABCDEF, M64]


def feistel_lines():
    yield _HEADER.format(name='feistel-v1', columns='size seed epoch index value (decimal)')
    for size in [1, 2, 3, 4, 5, 16, 17, 100, 257, 1003, 60000, 65536, 65537]:
        for seed, epoch in [(0, 0), (1, 0), (1, 1), (M64, M64)]:
            for index in sorted({0, 1, size // 2, size - 1}):
                if index < size:
                    yield '%d %d %d %d %d' % (
                        size, seed, epoch, index, feistel(size, seed, epoch, index))
    for size in [10**9 + 7, 10**12, 2**32, 2**32 + 1, 2**62, 2**63]:
        for seed in _SEEDS:
            for index in [0, 10**9, size - 1]:
                yield '%d %d %d %d %d' % (size, seed, 7, index, feistel(size, seed, 7, index))
    for index in range(16):
        yield '16 42 3 %d %d' % (index, feistel(16, 42, 3, index))


def philox_lines():
    yield _HEADER.format(
        name='philox4x32-10',
        columns='block c0 c1 c2 c3 k0 k1 = four words; the first three are the known answers '
        'of Random123')
    words = [
        [0] * 6,
        [M32] * 6,
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
        [1, 2, 3, 4, 5, 6],
    ]
    for w in words:
        out = philox(w[:4], w[4:])
        yield 'block ' + ' '.join('%08x' % x for x in w) + ' = ' + ' '.join('%08x' % x for x in out)
    yield '# stream seed purpose epoch sample (decimal) = the first nine words'
    for seed in _SEEDS:
        for purpose in [1, 2, 3]:
            for epoch, sample in [(0, 0), (3, 59999), (M64, M64)]:
                stream = Stream(seed, purpose, epoch, sample)
                yield 'stream %d %d %d %d = ' % (seed, purpose, epoch, sample) + ' '.join(
                    '%08x' % stream.u32() for _ in range(9))
    yield '# below seed bound = the first eight of stream (seed, 1, 0, 0)'
    for bound in [1, 2, 5, 10, 1000, 0x80000001, M32]:
        stream = Stream(9, 1, 0, 0)
        yield 'below 9 %d = ' % bound + ' '.join(str(stream.below(bound)) for _ in range(8))
    yield '# double seed = the first four of stream (seed, 1, 0, 0), as the bits of a double'
    stream = Stream(9, 1, 0, 0)
    yield 'double 9 = ' + ' '.join(bits(stream.double()) for _ in range(4))


def warmup_cosine_lines():
    yield _HEADER.format(
        name='warmup-cosine-v1',
        columns='warmup horizon final position f; final and f as the bits of a double')
    for warmup, horizon, final in [(0, 1, 0.0), (0, 300, 0.0), (20, 300, 0.0), (100, 1872, 0.01),
                                   (3, 7, 0.5), (10, 1000000007, 1e-3), (1, 2, 1.0)]:
        points = {0, 1, warmup - 1, warmup, warmup + 1, horizon // 4, horizon // 3, horizon // 2,
                  2 * horizon // 3, 7 * horizon // 8, horizon - 1, horizon, horizon + 1, 10**12}
        for position in sorted(p for p in points if p >= 0):
            yield '%d %d %s %d %s' % (warmup, horizon, bits(final), position,
                                      bits(warmup_cosine(warmup, horizon, final, position)))


def shift2_flip_lines():
    yield _HEADER.format(name='shift2-flip-v1', columns='seed epoch sample dx dy mirror (decimal)')
    for seed in _SEEDS:
        for epoch in [0, 1, 77]:
            for sample in [0, 1, 59999, 10**12]:
                yield '%d %d %d %d %d %d' % ((seed, epoch, sample) + shift2_flip(
                    seed, epoch, sample))


def crc32_of_images(size, seed, split):
    import zlib
    labels, crc = [], 0
    for label, rows in synthetic(size, seed, split):
        labels.append(label)
        for row in rows:
            crc = zlib.crc32(bytes(row), crc)
    return labels, crc


def synthetic_lines():
    yield _HEADER.format(
        name='synthetic-v1',
        columns="seed split size = labels = CRC-32 of all pixels (28 x 28, ten classes)")
    for seed, split, size in [(0, 0, 12), (1, 0, 12), (1, 1, 12), (M64, 1, 5)]:
        labels, crc = crc32_of_images(size, seed, split)
        yield '%d %d %d = %s = %08x' % (seed, split, size, ' '.join(map(str, labels)), crc)


FILES = {
    'feistel-v1': feistel_lines,
    'philox4x32-10': philox_lines,
    'warmup-cosine-v1': warmup_cosine_lines,
    'shift2-flip-v1': shift2_flip_lines,
    'synthetic-v1': synthetic_lines,
}

if __name__ == '__main__':
    for line in FILES[sys.argv[1]]():
        print(line)
