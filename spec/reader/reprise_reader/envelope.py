"""The envelope (SPEC.md, section 2): 48 bytes that are the same in every version.

    envelope = envelope.parse(first_bytes, file_size)   # ENV-3 to ENV-8
    envelope.check_length(envelope, limit, file_size)   # ENV-9 to ENV-11
    envelope.check_digest(envelope, manifest)           # ENV-12

The limit of the manifest's length depends on the major version, hence the two halves.
"""

import collections
import struct
import zlib

import xxhash

from reprise_reader import foreign
from reprise_reader.refusal import Refused

MAGIC = b'\xd2RPR\r\n\x1a\n'
SIZE = 48
_LAYOUT = struct.Struct('<8sIIIQ16sI')

# What programs that take the file for text make of the magic.
_TEXT_MODE = (
    b'\xd2RPR\n\x1a\n',          # CR LF became LF
    b'\xd2RPR\r\r\n\x1a\r\n',    # LF became CR LF
    b'\xd2RPR\r\x1a\n',          # CR LF became CR
    b'\xd2RPR\r\r\x1a\r',        # every LF became CR
    b'\xd2RPR\r\x1a\r',          # every end of a line became CR
    b'\xd2RPR\r\n\x1a\r\n',      # only the bare LF became CR LF
    b'\xc3\x92RPR',              # Latin-1 became UTF-8
    b'\xef\xbf\xbdRPR',          # no valid UTF-8: replacement character
    b'RRPR\r\n\x1a\n',           # the highest bit was taken off
)

Envelope = collections.namedtuple('Envelope', 'major minor manifest_length manifest_digest')


def parse(start, file_size, known_majors):
    """The envelope of a file that begins with `start`: at least 512 bytes, or the whole file.

    known_majors: those that this reader knows, ascending.
    Raises Refused: TRUNCATED, NOT_A_CHECKPOINT, CORRUPT, TOO_NEW, in the order of the rules.
    """
    magic = start[:len(MAGIC)]
    if file_size < SIZE and MAGIC.startswith(magic):
        if file_size == 0:
            raise Refused('TRUNCATED', 'the file is empty: expected at least %d bytes, found 0' %
                          SIZE, 0)
        raise Refused('TRUNCATED', 'expected an envelope of %d bytes, found %d' %
                      (SIZE, file_size), file_size)
    if magic != MAGIC:
        _refuse_magic(start)
    _, length, major, minor, manifest_length, digest, crc = _LAYOUT.unpack(start[:SIZE])
    if length != SIZE:
        raise Refused('CORRUPT', 'envelope length: expected %d, found %d' % (SIZE, length), 8)
    expected = zlib.crc32(start[:SIZE - 4])
    if crc != expected:
        raise Refused('CORRUPT', 'envelope CRC-32: expected %08x, found %08x' % (expected, crc), 44)
    if major == 0:
        raise Refused('CORRUPT', 'major 0 was never written', 12)
    if major not in known_majors:
        raise Refused('TOO_NEW', 'format version %d.%d: this reader knows major versions up to %d; '
                      'use a newer one' % (major, minor, max(known_majors)), 12)
    return Envelope(major, minor, manifest_length, digest)


def _refuse_magic(start):
    # ENV-5 before ENV-4: a damaged checkpoint is not another kind of file.
    if start.startswith(_TEXT_MODE):
        raise Refused('CORRUPT', 'magic changed by a text-mode transfer: copy the file again, as '
                      'binary', 0)
    if len(start) >= SIZE:
        mended = MAGIC + start[len(MAGIC):SIZE]
        if zlib.crc32(mended[:SIZE - 4]) == int.from_bytes(mended[SIZE - 4:], 'little'):
            raise Refused('CORRUPT', 'magic damaged: expected %s, found %s; the rest of the '
                          'envelope is whole' % (MAGIC.hex(' '), start[:len(MAGIC)].hex(' ')), 0)
    raise Refused('NOT_A_CHECKPOINT', 'it seems to be %s' % foreign.kind(start), 0)


def check_length(envelope, limit, file_size):
    """Compares the announced manifest length with the major's limit and the file's size."""
    length = envelope.manifest_length
    if length > limit:
        raise Refused('LIMIT', 'manifest length %d: at most %d' % (length, limit), 20)
    if SIZE + length > file_size:
        raise Refused('TRUNCATED', 'expected %d bytes, found %d' % (SIZE + length, file_size),
                      file_size)
    if SIZE + length < file_size:
        raise Refused('CORRUPT', '%d bytes after the manifest: expected %d, found %d' %
                      (file_size - SIZE - length, SIZE + length, file_size), SIZE + length)


def check_digest(envelope, manifest):
    found = xxhash.xxh3_128_digest(manifest)
    if found != envelope.manifest_digest:
        raise Refused('CORRUPT', 'manifest digest: expected %s, found %s' %
                      (envelope.manifest_digest.hex(), found.hex()), SIZE)
