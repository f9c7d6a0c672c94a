"""Bytes that no writer makes: refused before they are parsed."""

import unittest

from files import RefusalTest, message, seal
from reprise_reader import read_bytes


def field(number, payload):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value):
    out = b''
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


class WireTest(RefusalTest):

    def setUp(self):
        self.manifest = message().SerializeToString()

    def sealed(self, more, minor=0):
        return seal(self.manifest + more, minor=minor)

    def test_WIRE_1_wire_type_that_does_not_exist(self):
        self.refused(self.sealed(b'\x66'), 'CORRUPT', 'wire type 6')
        self.refused(self.sealed(b'\xff\x01'), 'CORRUPT', 'wire type 7')

    def test_WIRE_1_wire_type_that_does_not_fit(self):
        self.refused(seal(varint(2 << 3 | 1) + bytes(8)), 'CORRUPT', 'Checkpoint.step: expected')

    def test_WIRE_1_field_number_0(self):
        self.refused(self.sealed(b'\x02\x00'), 'CORRUPT', 'field number 0')

    def test_WIRE_1_length_beyond_the_message(self):
        self.refused(self.sealed(varint(4 << 3 | 2) + b'\x05ab'), 'CORRUPT')
        # Inside a submessage: beyond the submessage, not beyond the file.
        run = field(1, b'\x0a\x05a')
        self.refused(seal(run + self.manifest), 'CORRUPT', '5 bytes announced, 1 left')

    def test_WIRE_1_number_of_eleven_bytes(self):
        self.refused(seal(b'\x10' + b'\x80' * 10 + b'\x01'), 'CORRUPT', 'more than ten bytes')

    def test_WIRE_1_number_that_does_not_end(self):
        self.refused(self.sealed(b'\x80'), 'CORRUPT', 'inside a number')

    def test_WIRE_2_string_that_is_not_utf_8(self):
        self.refused(seal(field(1, field(1, b'\xc3\x28'))), 'CORRUPT', 'UTF-8')
        self.refused(seal(field(1, field(1, b'\xed\xa0\x80'))), 'CORRUPT', 'UTF-8')

    def test_WIRE_3_submessage_twice(self):
        self.refused(self.sealed(field(12, b'')), 'CORRUPT', 'about comes twice')

    def test_WIRE_4_unknown_field_of_minor_0_and_of_a_later_one(self):
        for more in (field(99, b'abc'), varint(99 << 3) + b'\x05', varint(99 << 3 | 5) + b'abcd',
                     varint(99 << 3 | 1) + b'abcdefgh',
                     varint(99 << 3 | 3) + b'\x08\x01' + varint(99 << 3 | 4)):
            self.refused(self.sealed(more), 'CORRUPT', 'field 99')
            self.read(self.sealed(more, minor=1))

    def test_WIRE_1_group_that_does_not_end_or_begin(self):
        self.refused(self.sealed(varint(99 << 3 | 3), minor=1), 'CORRUPT', 'does not end')
        self.refused(self.sealed(varint(99 << 3 | 4), minor=1), 'CORRUPT', 'never began')
        self.refused(self.sealed(varint(99 << 3 | 3) + varint(98 << 3 | 4), minor=1), 'CORRUPT',
                     'ends as group 98')

    def test_LIM_1_nesting(self):
        def groups(count):
            return (varint(99 << 3 | 3) * count) + (varint(99 << 3 | 4) * count)
        self.read(self.sealed(groups(7), minor=1))
        self.refused(self.sealed(groups(8), minor=1), 'LIMIT', 'more than 8 deep')
        self.refused(self.sealed(groups(100000), minor=1), 'LIMIT', 'more than 8 deep')

    def test_LIM_1_submessages_repeated_strings_and_unknown_fields(self):
        limit = 131072
        self.refused(self.sealed(field(3, b'') * limit), 'LIMIT', str(limit))
        self.refused(self.sealed(varint(99 << 3) + b'\x00' + (varint(99 << 3) + b'\x00') * limit,
                                 minor=1), 'LIMIT', str(limit))
        groups = field(5, field(3, field(2, b'a') * (limit + 1)))
        self.refused(seal(groups), 'LIMIT', str(limit))

    def test_LIM_1_rank_packed_and_not(self):
        for shape in (field(3, b'\x01' * 33), b'\x18\x01' * 33, field(3, b'\x01' * 1000000)):
            self.refused(seal(field(4, field(3, shape))), 'LIMIT', '32 dimensions')
        for shape in (field(3, b'\x01' * 32), b'\x18\x01' * 32, field(3, b'')):
            self.refused(seal(field(4, field(3, shape))), 'MISSING_ITEM', 'counters.step')

    def test_LIM_1_bytes_of_a_name(self):
        name = field(1, b'a' * 1024)
        self.refused(seal(field(4, field(3, name))), 'MISSING_ITEM', 'counters.step')
        name = field(1, b'a' * 1025)
        self.refused(seal(field(4, field(3, name))), 'LIMIT', '1025 bytes')

    def test_refusal_says_where_in_the_file(self):
        refused = self.refused(self.sealed(field(99, b'abc')), 'CORRUPT')
        self.assertEqual(refused.offset, 48 + len(self.manifest))

    def read(self, data):
        self.assertEqual(read_bytes(data).step, 60)


if __name__ == '__main__':
    unittest.main()
