"""The wire of a manifest before it is parsed: rules WIRE-1 to WIRE-5 and LIM-2 of SPEC.md."""

from google.protobuf.descriptor import FieldDescriptor as F

from reprise_reader.refusal import Refused
from reprise_reader.v2.need import need

MAX_ELEMENTS = 131072
MAX_NUMBERS = 2**25
MAX_DEPTH = 8

_FIXED64 = (F.TYPE_DOUBLE, F.TYPE_FIXED64, F.TYPE_SFIXED64)
_FIXED32 = (F.TYPE_FLOAT, F.TYPE_FIXED32, F.TYPE_SFIXED32)


class _Scanner:
    def __init__(self, data, unknown_allowed):
        self.data = data
        self.unknown_allowed = unknown_allowed
        self.position = 0
        self.elements = 0
        self.numbers = 0

    def message(self, descriptor, end, depth):
        need(depth <= MAX_DEPTH, "LIMIT", f"messages nested deeper than {MAX_DEPTH}")
        seen = set()
        while self.position < end:
            tag = self.varint(end)
            number, wire = tag >> 3, tag & 7
            need(0 < number <= 0x1FFFFFFF, "CORRUPT", f"field number {number}")
            need(wire in (0, 1, 2, 5), "CORRUPT", f"wire type {wire}")
            field = descriptor.fields_by_number.get(number)
            if field is None:
                need(self.unknown_allowed, "CORRUPT", f"field {number} is unknown")
                self.element()
                self.skip_value(wire, end)
                continue
            repeated = field.label == F.LABEL_REPEATED
            if not repeated:
                need(number not in seen, "CORRUPT", f"{field.full_name} comes twice")
                seen.add(number)
            self.known(field, repeated, wire, end, depth)

    def known(self, field, repeated, wire, end, depth):
        length_delimited = field.type in (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE)
        if not length_delimited:
            of_one = 1 if field.type in _FIXED64 else 5 if field.type in _FIXED32 else 0
            if not (repeated and wire == 2):
                need(wire == of_one, "CORRUPT", f"{field.full_name}: wire type {wire}")
                self.number(repeated)
                self.skip_value(wire, end)
                return
            size = self.varint(end)
            need(size <= end - self.position, "CORRUPT", f"{field.full_name}: too long")
            packed_end = self.position + size
            while self.position < packed_end:
                self.number(True)
                self.skip_value(of_one, packed_end)
            return
        need(wire == 2, "CORRUPT", f"{field.full_name}: wire type {wire}")
        size = self.varint(end)
        need(size <= end - self.position, "CORRUPT", f"{field.full_name}: too long")
        if repeated or field.type == F.TYPE_MESSAGE:
            self.element()
        if field.type == F.TYPE_MESSAGE:
            self.message(field.message_type, self.position + size, depth + 1)
            return
        if field.type == F.TYPE_STRING:
            try:
                self.data[self.position : self.position + size].decode("utf-8")
            except UnicodeDecodeError as error:
                raise Refused("CORRUPT", f"{field.full_name} is not UTF-8") from error
        self.position += size

    def element(self):
        self.elements += 1
        need(self.elements <= MAX_ELEMENTS, "LIMIT", "too many elements")

    def number(self, repeated):
        if repeated:
            self.numbers += 1
            need(self.numbers <= MAX_NUMBERS, "LIMIT", "too many numbers")

    def varint(self, end):
        value = 0
        for shift in range(0, 70, 7):
            need(self.position < end, "CORRUPT", "a number is cut off")
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (2**64 - 1)
        raise Refused("CORRUPT", "a number is longer than ten bytes")

    def skip_value(self, wire, end):
        if wire == 0:
            self.varint(end)
            return
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            size = self.varint(end)
        need(size <= end - self.position, "CORRUPT", "a field is cut off")
        self.position += size


def scan(data, descriptor, unknown_allowed):
    """Raises Refused unless `data` is a well-formed message of the type within the limits."""
    _Scanner(data, unknown_allowed).message(descriptor, len(data), 0)
