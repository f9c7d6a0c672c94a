"""No damage passes: every truncation, every flipped bit, every appended byte."""

import struct
import unittest
import zlib

from files import SMALL, RefusalTest, load, seal
from reprise_reader import Refused, read_bytes


class DamageTest(RefusalTest):

    def test_every_truncation_is_truncated(self):
        data = load(SMALL)
        for size in range(len(data)):
            with self.subTest(size):
                refused = self.refused(data[:size], 'TRUNCATED', 'found %d' % size)
                self.assertEqual(refused.offset, size)

    def test_every_flipped_bit_is_corrupt(self):
        data = bytearray(load(SMALL))
        read_bytes(bytes(data))
        for position in range(len(data)):
            for bit in range(8):
                data[position] ^= 1 << bit
                try:
                    read_bytes(bytes(data))
                    self.fail('read with bit %d of byte %d flipped' % (bit, position))
                except Refused as refused:
                    self.assertEqual(refused.refusal, 'CORRUPT', '%d: %s' % (position, refused))
                data[position] ^= 1 << bit

    def test_appended_bytes_are_corrupt(self):
        for tail in (b'\0', b'\n', load(SMALL)):
            self.refused(load(SMALL) + tail, 'CORRUPT', '%d bytes after the manifest' % len(tail))

    def test_damage_that_is_sealed_again_never_escapes_as_another_exception(self):
        """Any byte of the manifest set to any of a few values is read or refused."""
        manifest = bytearray(load(SMALL)[48:])
        refused = 0
        for position, old in enumerate(manifest):
            for new in {0x00, 0x7f, 0x80, 0xff, old ^ 1} - {old}:
                manifest[position] = new
                try:
                    read_bytes(seal(bytes(manifest)))
                except Refused:
                    refused += 1
            manifest[position] = old
        self.assertGreater(refused, len(manifest))

    def test_every_truncated_manifest_that_is_sealed_again_is_refused(self):
        manifest = load(SMALL)[48:]
        about = manifest.rindex(b'checkpoint_builder') - 4  # `about` may be absent
        for size in range(len(manifest)):
            if size == about:
                read_bytes(seal(manifest[:size]))
                continue
            with self.assertRaises(Refused, msg=size):
                read_bytes(seal(manifest[:size]))

    def test_each_kind_of_text_mode_transfer_is_named(self):
        data = load(SMALL)
        for old, new in ((b'\r\n', b'\n'), (b'\n', b'\r\n'), (b'\r\n', b'\r'), (b'\n', b'\r')):
            self.refused(data.replace(old, new), 'CORRUPT', 'text-mode')
        self.refused(data.decode('latin-1').encode('utf-8'), 'CORRUPT', 'text-mode')
        self.refused(data.decode('utf-8', 'replace').encode(), 'CORRUPT', 'text-mode')

    def test_other_kinds_of_files_are_named(self):
        for data, kind in (
                (b'PK\x03\x04' + bytes(60), 'zip'), (b'\x80\x02}q\x00.', 'pickle'),
                (b'\x89HDF\r\n\x1a\n' + bytes(60), 'HDF5'), (b'\x93NUMPY\x01\x00', 'NumPy'),
                (b'\x10\0\0\0\0\0\0\0{"a":{}}', 'safetensors'), (b'{"step": 3}', 'JSON'),
                (b'learning rate\n', 'text file'), ('caf\u00e9 \u5c64'.encode(), 'text file'),
                (bytes(100), 'zeros'), (b'\x01\x02\xff\xfe', 'unknown kind')):
            with self.subTest(kind):
                self.refused(data, 'NOT_A_CHECKPOINT', kind)


class EnvelopeTest(RefusalTest):

    def test_newer_major_is_too_new_whatever_follows(self):
        data = seal(b'', major=7, minor=3)
        for tail in (b'', b'anything'):
            self.refused(data + tail, 'TOO_NEW', 'format version 7.3')

    def test_length_at_the_limit_is_truncated_and_above_it_is_limit(self):
        for length, refusal, number in (((1 << 31) - 1, 'TRUNCATED', 48 + (1 << 31) - 1),
                                        (1 << 31, 'LIMIT', 1 << 31)):
            start = struct.pack('<8sIIIQ16s', b'\xd2RPR\r\n\x1a\n', 48, 1, 0, length, bytes(16))
            self.refused(start + struct.pack('<I', zlib.crc32(start)), refusal, str(number))


if __name__ == '__main__':
    unittest.main()
