"""Files for tests: the vectors and what is expected of them, and sealing a manifest into an envelope."""

import atexit
import glob
import os
import shutil
import struct
import tempfile
import unittest
import zlib

from google.protobuf import text_format
import xxhash

import expect_pb2
from reprise_reader import Refused, read_bytes
from reprise_reader.schema import checkpoint_pb2, vocabulary_pb2
from reprise_reader.v2.reader import ROLES, chunk_digests, root_digest

VECTORS = 'spec/vectors/v1/'
SMALL = VECTORS + 'valid/small/checkpoint/manifest.ckpt'


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


def expectations(folder):
    """{path of the vector below `folder`: its expect.textproto as a message}."""
    found = {}
    for path in glob.glob(os.path.join(folder, '**', 'expect.textproto'), recursive=True):
        with open(path, encoding='utf-8') as file:
            found[os.path.relpath(os.path.dirname(path), folder)] = text_format.Parse(
                file.read(), expect_pb2.Vector())
    return found


def tensor_differences(expected, read):
    """What is other in a Checkpoint than the messages `expected` say, a text each."""
    texts = []
    if len(read.tensors) != len(expected):
        texts.append('%d tensors, expected %d' % (len(read.tensors), len(expected)))
    for tensor in expected:
        role = ROLES[vocabulary_pb2.Item.Name(tensor.item)]
        if tensor.part:
            found = read.moments[(tensor.name, tensor.part)]
        elif role in ('parameter', 'buffer'):
            found = read.tensors[tensor.name]
        else:
            found = read.tensors[role + ':' + tensor.name]
        root = root_digest(len(found.stored), chunk_digests(found.stored))
        ours = (found.role, found.dtype, found.shape, found.stored[:16].hex(), root.hex(),
                len(found.values()))
        theirs = (role, tensor.dtype, tuple(tensor.shape), tensor.head, tensor.root_digest,
                  found.num_elements)
        if ours != theirs:
            texts.append('%s %s: %s, expected %s' % (tensor.name, tensor.part, ours, theirs))
    return texts


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
