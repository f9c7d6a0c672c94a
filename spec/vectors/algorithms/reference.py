"""spec/ALGORITHMS.md in Python: written from its text, standard library only.

`python3 reference.py NAME` prints the lines of NAME.txt. The files are released:
an algorithm that gives other values is another algorithm and takes a new id and
a new file.
"""

import math
import random
import struct
import sys
import zlib

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


def power(base, exponent):
    """By squaring, in pairs of doubles whose sum is the value."""

    def split(a):
        c = 134217729.0 * a
        high = c - (c - a)
        return high, a - high

    def multiply(a, b):
        product = a[0] * b[0]
        (x1, x2), (y1, y2) = split(a[0]), split(b[0])
        error = ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2
        low = error + (a[0] * b[1] + a[1] * b[0])
        total = product + low
        return total, low - (total - product)

    result, square = (1.0, 0.0), (base, 0.0)
    while exponent:
        if exponent & 1:
            result = multiply(result, square)
        exponent >>= 1
        if exponent:
            square = multiply(square, square)
    return result[0] + result[1]


def anneal(start, end, t):
    return end + (start - end) * (0.5 * (1.0 + cos_pi(t)))


def schedule(form, warmup, horizon, final, parameters, position):
    """Factor and momentum (None: left alone) of the forms without a state."""
    p = min(position, horizon)
    if form == 'one-cycle-v1':
        high, low, start = (parameters[n] for n in sorted(parameters))
        if position < warmup:
            t = float(position) / float(warmup)
            return anneal(start, 1.0, t), anneal(high, low, t)
        if position >= horizon:
            return final, high
        t = float(position - warmup) / float(horizon - warmup)
        return anneal(1.0, final, t), anneal(low, high, t)
    if position < warmup:
        return float(position + 1) / float(warmup), None
    if form == 'linear-v1':
        if position >= horizon:
            return final, None
        return 1.0 + (final - 1.0) * (float(p - warmup) / float(horizon - warmup)), None
    if form == 'step-v1':
        count = (p - warmup) // int(parameters['step_size'])
        return max(final, power(parameters['gamma'], count)), None
    if form == 'exponential-v1':
        return max(final, power(parameters['gamma'], p - warmup)), None
    return 1.0, None


class Plateau:
    """plateau-v1."""

    def __init__(self, warmup, final, parameters):
        self.warmup, self.final, self.parameters = warmup, final, parameters
        self.best, self.bad, self.cooldown, self.factor = None, 0, 0, 1.0

    def evaluation(self, value):
        q = self.parameters
        if self.best is None:
            better = value == value
        elif q['higher_is_better']:
            better = value > self.best * (1.0 + q['threshold'])
        else:
            better = value < self.best * (1.0 - q['threshold'])
        if better:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.cooldown:
            self.cooldown, self.bad = self.cooldown - 1, 0
        if self.bad > q['patience']:
            reduced = max(self.factor * q['reduction'], self.final)
            if reduced > 0:
                self.factor = min(self.factor, reduced)
            self.cooldown, self.bad = int(q['cooldown']), 0

    def fraction(self, position):
        rising = float(position + 1) / float(self.warmup) if position < self.warmup else 1.0
        return rising * self.factor


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


def schedule_lines(form, names, cases):
    yield _HEADER.format(
        name=form,
        columns=' '.join(['warmup horizon final'] + names + ['position f momentum']) +
        '; all but the integers as the bits of a double')
    for warmup, horizon, final, values in cases:
        parameters = dict(zip(names, values))
        points = {0, 1, 2, warmup // 2, warmup - 1, warmup, warmup + 1, warmup + 9, warmup + 10,
                  horizon // 4, horizon // 3, horizon // 2, 2 * horizon // 3, 7 * horizon // 8,
                  horizon - 1, horizon, horizon + 1, 10**12}
        for position in sorted(p for p in points if p >= 0):
            f, momentum = schedule(form, warmup, horizon, final, parameters, position)
            yield ' '.join(['%d %d %s' % (warmup, horizon, bits(final))] +
                           [bits(v) for v in values] +
                           ['%d %s %s' % (position, bits(f),
                                          '-' if momentum is None else bits(momentum))])


def constant_lines():
    return schedule_lines('constant-v1', [], [(0, 1, 0.0, []), (20, 300, 0.01, [])])


def linear_lines():
    return schedule_lines('linear-v1', [], [
        (0, 1, 0.0, []), (0, 300, 0.0, []), (20, 300, 0.01, []), (100, 1872, 0.1, []),
        (10, 1000000007, 1e-3, []), (1, 2, 1.0, [])])


def step_lines():
    return schedule_lines('step-v1', ['gamma', 'step_size'], [
        (0, 300, 0.0, [0.1, 30.0]), (20, 300, 0.0, [0.5, 10.0]), (20, 300, 0.01, [0.1, 60.0]),
        (0, 2**53, 0.0, [0.9999999, 1000.0]), (3, 4, 0.0, [1.0, 1.0])])


def exponential_lines():
    return schedule_lines('exponential-v1', ['gamma'], [
        (0, 300, 0.0, [0.97]), (20, 300, 0.0, [0.999]), (20, 300, 0.01, [0.9]),
        (0, 10**9, 0.0, [0.99999999]), (3, 4000, 0.0, [0.5])])


def one_cycle_lines():
    return schedule_lines('one-cycle-v1', ['momentum_high', 'momentum_low', 'start_fraction'], [
        (0, 300, 0.0, [0.95, 0.85, 0.04]), (89, 299, 4e-6, [0.95, 0.85, 0.04]),
        (10, 1000000007, 1e-3, [0.9, 0.9, 0.0]), (1, 2, 1.0, [0.99, 0.5, 1.0])])


def plateau_lines():
    names = ['cooldown', 'higher_is_better', 'patience', 'reduction', 'threshold']
    yield _HEADER.format(
        name='plateau-v1',
        columns=' '.join(['warmup final'] + names) + ', then for each evaluation: value best '
        'bad_count cooldown factor f(1); all but counts as the bits of a double')
    falling = [3.0, 2.5, 2.49, 2.48, 2.6, math.nan, 2.2, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 1.0]
    rising = [0.1, 0.5, 0.5, 0.5, 0.5, 0.50001, 0.6, 0.55, 0.55, 0.55]
    for warmup, final, values, seen in [
            (0, 0.0, [0.0, 0.0, 0.0, 0.1, 1e-4], falling),
            (4, 0.01, [0.0, 0.0, 1.0, 0.1, 1e-2], falling),
            (4, 0.0, [2.0, 0.0, 1.0, 0.5, 1e-2], [math.nan] + falling),
            (2, 0.3, [1.0, 1.0, 1.0, 0.5, 1e-4], rising),
            (0, 0.0, [0.0, 1.0, 2.0, 0.1, 0.0], rising)]:
        plateau = Plateau(warmup, final, dict(zip(names, values)))
        row = ['%d %s' % (warmup, bits(final))] + [bits(v) for v in values]
        for value in seen:
            plateau.evaluation(value)
            row.append(' '.join([
                'nan' if value != value else bits(value),
                '-' if plateau.best is None else bits(plateau.best), str(plateau.bad),
                str(plateau.cooldown), bits(plateau.factor), bits(plateau.fraction(1))]))
        yield ' '.join(row)


def shift2_flip_lines():
    yield _HEADER.format(name='shift2-flip-v1', columns='seed epoch sample dx dy mirror (decimal)')
    for seed in _SEEDS:
        for epoch in [0, 1, 77]:
            for sample in [0, 1, 59999, 10**12]:
                yield '%d %d %d %d %d %d' % ((seed, epoch, sample) + shift2_flip(
                    seed, epoch, sample))


def crc32_of_images(size, seed, split):
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


# LibTorch's float arithmetic in its portable instruction set: every operation is
# rounded to binary32 by itself; scalars are doubles until they meet a tensor.


def f32(x):
    """The nearest float, infinite when that overflows; a double holding it."""
    try:
        return struct.unpack('<f', struct.pack('<f', x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def f32_bits(x):
    return 'nan' if x != x else '%08x' % struct.unpack('>I', struct.pack('>f', x))


def add(a, b, alpha=1.0):
    return f32(a + f32(f32(alpha) * b))


def mul(a, b):
    return f32(a * f32(b))


def div(a, b):
    return f32(a / f32(b))


def lerp(a, b, weight):
    w, distance = f32(weight), f32(b - a)
    if abs(w) < 0.5:
        return f32(a + f32(w * distance))
    return f32(b - f32(distance * f32(1.0 - w)))


def addcmul(a, x, y, value):
    return f32(a + f32(f32(f32(value) * x) * y))


def addcdiv(a, x, y, value):
    return f32(a + f32(f32(f32(value) * x) / y))


class Element:
    """One element of a parameter under torch-single-tensor-v1, with its moments."""

    def __init__(self, p):
        self.p, self.moments, self.step = p, [], 0

    def update(self, g, kind, lr, decay, beta1, beta2, eps, momentum, dampening, nesterov):
        self.step += 1
        if kind == 'sgd':
            if decay:
                g = add(g, self.p, decay)
            if momentum:
                if self.moments:
                    self.moments = [add(mul(self.moments[0], momentum), g, 1 - dampening)]
                else:
                    self.moments = [g]
                g = add(g, self.moments[0], momentum) if nesterov else self.moments[0]
            self.p = add(self.p, g, -lr)
            return
        m, v = self.moments or [0.0, 0.0]
        if decay and kind == 'adamw':
            self.p = mul(self.p, 1 - lr * decay)
        elif decay:
            g = add(g, self.p, decay)
        m = lerp(m, g, 1 - beta1)
        v = addcmul(mul(v, beta2), g, g, 1 - beta2)
        step_size = lr / (1 - math.pow(beta1, self.step))
        denominator = add(div(f32(math.sqrt(v)), math.pow(1 - math.pow(beta2, self.step), 0.5)),
                          f32(eps))
        self.p = addcdiv(self.p, m, denominator, -step_size)
        self.moments = [m, v]


class Scaler:
    """grad-scaler-v1."""

    def __init__(self, scale, growth, backoff, interval):
        self.scale, self.growth, self.backoff, self.interval = scale, growth, backoff, interval
        self.tracker = 0

    def unscale(self, gradients):
        inverse = f32(1.0 / self.scale)
        found = any(g != g or math.isinf(g) for g in gradients)
        return [f32(g * inverse) for g in gradients], found

    def update(self, found):
        if found:
            self.scale, self.tracker = f32(self.scale * self.backoff), 0
            return
        self.tracker += 1
        if self.tracker == self.interval:
            grown = f32(self.scale * self.growth)
            if not math.isinf(grown):
                self.scale = grown
            self.tracker = 0


class TorchGenerator:
    """LibTorch's CPU generator: the Mersenne Twister, seeded with 32 bits."""

    def __init__(self, seed):
        state = [seed & M32]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & M32)
        self.twister = random.Random()
        self.twister.setstate((3, tuple(state) + (624,), None))

    def word(self):
        return self.twister.getrandbits(32)

    def uniform(self, count, bound):
        low = f32(-bound)
        width = f32(f32(bound) - low)
        return [f32(f32((self.word() & 0xFFFFFF) / 16777216.0 * width) + low)
                for _ in range(count)]


def layer(generator, name, outputs, inputs, kernel=1):
    """Values of a linear layer or convolution, in the order of drawing."""
    fan_in = inputs * kernel
    gain = math.sqrt(2.0 / (1 + math.pow(math.sqrt(5.0), 2)))
    yield name + '.weight', generator.uniform(outputs * fan_in,
                                              math.sqrt(3.0) * (gain / math.sqrt(fan_in)))
    yield name + '.bias', generator.uniform(outputs, 1 / math.sqrt(fan_in))


def mlp(generator, hidden, pixels, classes):
    yield from layer(generator, 'fc1', hidden, pixels)
    yield from [('norm.weight', [1.0] * hidden), ('norm.bias', [0.0] * hidden)]
    yield from layer(generator, 'fc2', hidden, hidden)
    yield from layer(generator, 'fc3', classes, hidden)


def convnet(generator, hidden, pixels, classes):
    yield from layer(generator, 'conv1', 16, 1, 9)
    yield from [('norm1.weight', [1.0] * 16), ('norm1.bias', [0.0] * 16)]
    yield from layer(generator, 'conv2', 32, 16, 9)
    yield from [('norm2.weight', [1.0] * 32), ('norm2.bias', [0.0] * 32)]
    yield from layer(generator, 'fc1', hidden, 2 * pixels)
    yield from layer(generator, 'fc2', classes, hidden)


def torch_default_lines():
    yield _HEADER.format(
        name='torch-default-v1',
        columns='model hidden size seed parameter elements = CRC-32 of the values as '
        'little-endian floats\n# (images size x size of one channel, ten classes), and the '
        'next three words of the generator')
    for model, hidden, size, seed in [('mlp', 16, 8, 1), ('mlp', 16, 8, M64), ('mlp', 128, 28, 7),
                                      ('convnet', 32, 28, 7), ('convnet', 8, 12, 0)]:
        generator = TorchGenerator(seed)
        build = {'mlp': mlp, 'convnet': convnet}[model]
        case = '%s %d %d %d' % (model, hidden, size, seed)
        for name, values in build(generator, hidden, size * size, 10):
            yield '%s %s %d = %08x' % (case, name, len(values), zlib.crc32(
                struct.pack('<%df' % len(values), *values)))
        yield '%s next = ' % case + ' '.join('%08x' % generator.word() for _ in range(3))


# Gradients whose second moments, at beta2 = 3/4, are perfect squares: LibTorch's
# square root may be one unit off elsewhere, and differ between processors.
_GRADIENTS = [16.0, 22.0, 83.0, 923.0]


def torch_single_tensor_lines():
    yield _HEADER.format(
        name='torch-single-tensor-v1',
        columns='kind lr weight_decay beta1 beta2 eps momentum dampening nesterov step gradient x 4'
        '\n# = parameter before x 4 = parameter after x 4 = each moment after x 4 (doubles for the '
        'options,\n# else floats)')
    adamw = [(0.01, 0.1, 0.9, 0.75, 1e-8), (0.003, 0.0, 0.3, 0.75, 0.001)]
    adam = [(0.01, 0.5, 0.9, 0.75, 1e-8), (0.003, 0.0, 0.3, 0.75, 0.001)]
    sgd = [(0.01, 0.1, 0.0, 0.0, 0), (0.01, 0.1, 0.9, 0.25, 0), (0.1, 0.0, 0.7, 0.0, 1)]
    cases = [('adamw',) + o + (0.0, 0.0, 0) for o in adamw]
    cases += [('adam',) + o + (0.0, 0.0, 0) for o in adam]
    cases += [('sgd', lr, decay, 0.0, 0.0, 0.0, m, d, n) for lr, decay, m, d, n in sgd]
    for case in cases:
        # Adam's decay adds the parameter to the gradient: only the first step, from
        # values of few digits, keeps the squares.
        steps = 1 if case[0] == 'adam' and case[2] else len(_GRADIENTS)
        start = [1.5, -0.25, 8.0, -2.0**-14] if steps == 1 else [1.5, -0.2, 0.0078, -3.1]
        elements = [Element(f32(p)) for p in start]
        for t in range(steps):
            gradients = [_GRADIENTS[t] * x for x in (2.0**-4, -2.0**-12, 2.0**3, 2.0**-20)]
            row = [case[0]] + [bits(x) for x in case[1:8]] + [str(case[8]), str(t + 1)]
            row += [f32_bits(g) for g in gradients] + ['='] + [f32_bits(e.p) for e in elements]
            for element, g in zip(elements, gradients):
                element.update(g, *case)
            row += ['='] + [f32_bits(e.p) for e in elements]
            for k in range(len(elements[0].moments)):
                row += ['='] + [f32_bits(e.moments[k]) for e in elements]
            yield ' '.join(row)


def grad_scaler_lines():
    yield _HEADER.format(
        name='grad-scaler-v1',
        columns='case growth backoff interval scale tracker, all before the step; gradient x 2 '
        '= after\n# unscaling x 2, found_inf, scale, tracker after the step (doubles for growth '
        'and backoff)')
    inf, nan = math.inf, math.nan
    good, third = [1.0, -0.3], [1 / 3, 1e-30]
    for name, scale, growth, backoff, interval, steps in [
            ('usual', 65536.0, 2.0, 0.5, 3, [good, [inf, 1.0], third, good, third, good, good, good]),
            ('inexact', 1000.1, 1.7, 0.3, 2, [good, third, [nan, 1.0], [1.0, -inf], good, third]),
            ('largest', 2.0**127, 2.0, 0.5, 1, [good, third, [1.0, nan], good, good]),
            ('smallest', 2.0**-126, 2.0, 0.5, 2, [[inf, inf], [2.0**-127, 0.0], [2.0**-149, 1.0]]),
    ]:
        scaler = Scaler(f32(scale), growth, backoff, interval)
        for gradients in steps:
            gradients = [f32(g) for g in gradients]
            row = [name, bits(growth), bits(backoff), str(interval), f32_bits(scaler.scale),
                   str(scaler.tracker)] + [f32_bits(g) for g in gradients] + ['=']
            after, found = scaler.unscale(gradients)
            scaler.update(found)
            row += [f32_bits(g) for g in after]
            row += [str(int(found)), f32_bits(scaler.scale), str(scaler.tracker)]
            yield ' '.join(row)


FILES = {
    'feistel-v1': feistel_lines,
    'philox4x32-10': philox_lines,
    'warmup-cosine-v1': warmup_cosine_lines,
    'constant-v1': constant_lines,
    'linear-v1': linear_lines,
    'step-v1': step_lines,
    'exponential-v1': exponential_lines,
    'one-cycle-v1': one_cycle_lines,
    'plateau-v1': plateau_lines,
    'shift2-flip-v1': shift2_flip_lines,
    'synthetic-v1': synthetic_lines,
    'torch-default-v1': torch_default_lines,
    'torch-single-tensor-v1': torch_single_tensor_lines,
    'grad-scaler-v1': grad_scaler_lines,
}

if __name__ == '__main__':
    for line in FILES[sys.argv[1]]():
        print(line)
