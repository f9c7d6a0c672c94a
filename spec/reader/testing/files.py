"""Files for tests: sealing a manifest into an envelope, and the small vector as a message."""

import atexit
import os
import shutil
import struct
import tempfile
import unittest
import zlib

import xxhash

from reprise_reader import Refused, read_bytes
from reprise_reader.schema import checkpoint_pb2

VECTORS = 'spec/vectors/v1/'
SMALL = VECTORS + 'valid/small.ckpt'


def seal(manifest, major=1, minor=0):
    """A whole file: envelope and manifest, every checksum right."""
    start = struct.pack('<8sIIIQ', b'\xd2RPR\r\n\x1a\n', 48, major, minor, len(manifest))
    start += xxhash.xxh3_128_digest(manifest)
    return start + struct.pack('<I', zlib.crc32(start)) + manifest


def load(path):
    with open(path, 'rb') as file:
        return file.read()


def message(path=SMALL):
    return checkpoint_pb2.Checkpoint.FromString(load(path)[48:])


def real(folder):
    """A temporary copy of a folder of data, made of regular files: Bazel's are symbolic links."""
    parent = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
    atexit.register(shutil.rmtree, parent)
    copy = os.path.join(parent, 'copy', '')
    shutil.copytree(folder, copy)
    return copy


class RefusalTest(unittest.TestCase):
    """Asserts refusals by name and text."""

    def refused(self, data, refusal, text=''):
        try:
            read_bytes(data)
        except Refused as refused:
            self.assertEqual(refused.refusal, refusal, str(refused))
            self.assertIn(text, str(refused))
            return refused
        return self.fail('read, expected %s %s' % (refusal, text))
