"""This reader and the C++ library say the same to thousands of changed checkpoints.

Each case is a valid vector with one change, sealed again so that only the rules of the message are
in question. The specification gives no order among the rules of its section 3, and a change may break
several: MISSING_ITEM, INVALID_VALUE, LIMIT and a tensor's wrong length count as one answer here;
rules_test tells them apart.

The seed of the random cases is printed; REPRISE_SEED=<seed> replays them:
    bazel test //spec/reader:agreement_test --test_env=REPRISE_SEED=<seed>
"""

import os
import random
import shutil
import subprocess
import tempfile
import unittest

from files import VECTORS, load, message, seal
from google.protobuf.descriptor import FieldDescriptor
from reprise_reader import Refused, read

BASES = ('small', 'nothing_applied_yet', 'epoch_end', 'inference_only')
SAY = 'spec/reader/testing/say_refusals'
RANDOM_CASES = 1500

_VALUES = {
    FieldDescriptor.CPPTYPE_UINT64: (0, 1, 7, 59, 60, 61, 1 << 31, 1 << 62, 1 << 63, (1 << 64) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 1, 19, 20, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_INT64: (0, -1),
    FieldDescriptor.CPPTYPE_ENUM: (0, 1, 2, 3, 4, 5, 13, 14, 47, 100, -1),
    FieldDescriptor.CPPTYPE_DOUBLE: (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e308, float('inf'),
                                     float('nan')),
    FieldDescriptor.CPPTYPE_FLOAT: (0.0, -1.0, 1e-45, float('inf'), float('nan')),
    FieldDescriptor.CPPTYPE_BOOL: (False, True),
}
_STRINGS = ('', 'a', 'a\0b', 'cpu', 'cuda:0', 'cuda:01', 'sgd', 'adam', 'fc.weight', 'fc.bias',
            'exp_avg', 'momentum_buffer', 'x' * 1024, 'x' * 1025)


def _messages(outer, path=''):
    """(path, message) of every message inside."""
    yield path, outer
    for field, value in outer.ListFields():
        if field.message_type is None:
            continue
        for index, inner in enumerate(value if field.label == field.LABEL_REPEATED else [value]):
            yield from _messages(inner, '%s.%s[%d]' % (path, field.name, index))


def _at(root, wanted):
    for path, found in _messages(root):
        if path == wanted:
            return found
    raise KeyError(wanted)


def _changes(found):
    """(what, function of the message) for every change of one field."""
    for field in found.DESCRIPTOR.fields:
        name = field.name
        if field.label == field.LABEL_REPEATED:
            values = getattr(found, name)
            yield 'no ' + name, lambda m, n=name: m.ClearField(n)
            for index in range(min(len(values), 3)):
                yield 'without %s %d' % (name, index), (
                    lambda m, n=name, i=index: getattr(m, n).pop(i))
                if field.message_type is None:
                    yield 'another %s %d' % (name, index), (
                        lambda m, n=name, i=index: getattr(m, n).append(getattr(m, n)[i]))
                else:
                    yield 'another %s %d' % (name, index), (
                        lambda m, n=name, i=index: getattr(m, n).add().CopyFrom(getattr(m, n)[i]))
            if field.message_type is not None:
                yield 'an empty ' + name, lambda m, n=name: getattr(m, n).add()
            elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
                for value in _STRINGS:
                    yield '%s and %.10r' % (name, value), (
                        lambda m, n=name, v=value: getattr(m, n).append(v))
            else:
                for value in _VALUES[field.cpp_type]:
                    yield '%s and %r' % (name, value), (
                        lambda m, n=name, v=value: getattr(m, n).append(v))
            continue
        yield 'no ' + name, lambda m, n=name: m.ClearField(n)
        if field.message_type is not None:
            yield 'empty ' + name, lambda m, n=name: (m.ClearField(n), getattr(m, n).SetInParent())
        elif field.type == FieldDescriptor.TYPE_BYTES:
            for value in (b'', b'a', b'\xff' * 16, b'b' * 24):
                yield '%s = %r' % (name, value), lambda m, n=name, v=value: setattr(m, n, v)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            for value in _STRINGS:
                yield '%s = %.10r' % (name, value), lambda m, n=name, v=value: setattr(m, n, v)
        else:
            for value in _VALUES[field.cpp_type]:
                yield '%s = %r' % (name, value), lambda m, n=name, v=value: setattr(m, n, v)


def _field_cases():
    for base in BASES:
        original = message('%svalid/%s/checkpoint/manifest.ckpt' % (VECTORS, base))
        for path, found in list(_messages(original)):
            for what, change in _changes(found):
                changed = type(original)()
                changed.CopyFrom(original)
                change(_at(changed, path))
                yield '%s%s: %s' % (base, path, what), seal(changed.SerializeToString())


def _random_cases(seed):
    """Bytes changed, taken out, put in, or moved, in the manifest."""
    generator = random.Random(seed)
    manifests = [load('%svalid/%s/checkpoint/manifest.ckpt' % (VECTORS, base))[48:] for base in BASES]
    for number in range(RANDOM_CASES):
        data = bytearray(generator.choice(manifests))
        for _ in range(generator.choice((1, 1, 1, 2, 5))):
            position = generator.randrange(len(data))
            kind = generator.randrange(4)
            if kind == 0:
                data[position] = generator.randrange(256)
            elif kind == 1:
                data[position] ^= 1 << generator.randrange(8)
            elif kind == 2:
                del data[position:position + generator.randrange(1, 9)]
            else:
                start = generator.randrange(len(data))
                data[position:position] = data[start:start + generator.randrange(1, 40)]
        yield 'random %d' % number, seal(bytes(data), minor=generator.choice((0, 0, 1)))


class AgreementTest(unittest.TestCase):

    def compare(self, cases):
        parent = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, parent)
        names, folders = [], []
        for number, (name, data) in enumerate(cases):
            # Not step-*, which would have to be the message's step (DIR-1).
            folder = os.path.join(parent, '%d' % number)
            os.mkdir(folder)
            with open(os.path.join(folder, 'manifest.ckpt'), 'wb') as file:
                file.write(data)
            names.append(name)
            folders.append(folder)
        library = subprocess.run([SAY], input='\n'.join(folders).encode(), check=True,
                                 stdout=subprocess.PIPE).stdout.decode(
                                     errors='replace').rstrip('\n').split('\n')
        self.assertEqual(len(library), len(folders))
        for name, folder, theirs in zip(names, folders, library):
            try:
                read(folder)
                ours = 'VALID'
            except Refused as refused:
                ours = '%s %s' % (refused.refusal, refused)
            yield name, ours, theirs

    def agree(self, cases):
        """Checks the cases; returns how many were read."""
        valid = 0
        problems = []
        for name, ours, theirs in self.compare(cases):
            valid += ours == theirs == 'VALID'
            if _answer(ours) != _answer(theirs):
                problems.append('%s: this reader says %s, the library %s' % (name, ours, theirs))
        self.assertEqual(problems, [])
        return valid

    def test_every_change_of_one_field(self):
        cases = list(_field_cases())
        self.assertGreater(len(cases), 5000)
        valid = self.agree(cases)
        self.assertGreater(valid, len(cases) // 10)
        self.assertLess(valid, len(cases) // 2)

    def test_random_changes_of_bytes(self):
        seed = int(os.environ.get('REPRISE_SEED') or random.SystemRandom().randrange(1 << 32))
        print('REPRISE_SEED=%d' % seed)
        self.agree(_random_cases(seed))


def _answer(text):
    refusal = text.split(' ', 1)[0]
    # The length of a tensor's data (TEN-2) is CORRUPT, and a rule among the others.
    rules = refusal in ('MISSING_ITEM', 'INVALID_VALUE', 'LIMIT') or 'bytes by its shape' in text
    return 'RULES' if rules else refusal


if __name__ == '__main__':
    unittest.main()
