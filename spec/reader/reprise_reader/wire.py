"""Scans a serialised protobuf message before it is parsed (SPEC.md, WIRE-1 to WIRE-5).

A parser of protobuf takes more than the specification allows (the last of two values, unknown
fields) and lets two bytes of input become hundreds of memory. So every byte is walked here first;
what passes is safe to parse.
"""

from google.protobuf.descriptor import FieldDescriptor

from reprise_reader.refusal import Refused

MAX_PARTS = 131072
MAX_RANK = 32
MAX_NESTING = 8
MAX_NAME_BYTES = 1024

_VARINT, _FIXED64, _LENGTH, _GROUP_START, _GROUP_END, _FIXED32 = range(6)
_MAX_FIELD_NUMBER = (1 << 29) - 1

_WIRE_TYPES = {
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_FIXED64: _FIXED64,
    FieldDescriptor.TYPE_SFIXED64: _FIXED64,
    FieldDescriptor.TYPE_FLOAT: _FIXED32,
    FieldDescriptor.TYPE_FIXED32: _FIXED32,
    FieldDescriptor.TYPE_SFIXED32: _FIXED32,
    FieldDescriptor.TYPE_STRING: _LENGTH,
    FieldDescriptor.TYPE_BYTES: _LENGTH,
    FieldDescriptor.TYPE_MESSAGE: _LENGTH,
}


class _Field:
    """What the scan needs to know of a field of the schema."""

    def __init__(self, field):
        self.name = field.name
        self.repeated = field.label == FieldDescriptor.LABEL_REPEATED
        self.wire_type = _WIRE_TYPES.get(field.type, _VARINT)
        self.is_string = field.type == FieldDescriptor.TYPE_STRING
        self.message = field.message_type
        self.packable = self.repeated and self.wire_type != _LENGTH
        self.is_shape = field.containing_type.name == 'Tensor' and field.name == 'shape'
        self.is_name = self.is_string and field.name in ('name', 'parameter', 'parameters', 'path')


class _Scanner:

    def __init__(self, data, base, ignore_unknown):
        self.data = data
        self.base = base
        self.ignore_unknown = ignore_unknown
        self.parts = 0
        self.schemas = {}

    def refuse(self, refusal, message, position):
        raise Refused(refusal, message, self.base + position)

    def corrupt(self, message, position):
        self.refuse('CORRUPT', message, position)

    def fields(self, descriptor):
        known = self.schemas.get(descriptor.full_name)
        if known is None:
            known = {field.number: _Field(field) for field in descriptor.fields}
            self.schemas[descriptor.full_name] = known
        return known

    def count_part(self, position):
        self.parts += 1
        if self.parts > MAX_PARTS:
            self.refuse('LIMIT', 'more than %d submessages, repeated strings and unknown fields' %
                        MAX_PARTS, position)

    def varint(self, position, end, what):
        value = shift = 0
        start = position
        while True:
            if position >= end:
                self.corrupt('%s ends inside a number' % what, start)
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value & 0xffffffffffffffff, position
            shift += 7
            if shift >= 70:
                self.corrupt('%s has a number of more than ten bytes' % what, start)

    def skip(self, wire_type, position, end, what):
        """The position after a value that is not a group."""
        if wire_type == _VARINT:
            return self.varint(position, end, what)[1]
        if wire_type == _LENGTH:
            length, position = self.varint(position, end, what)
        else:
            length = 8 if wire_type == _FIXED64 else 4
        if length > end - position:
            self.corrupt('%s: %d bytes announced, %d left' % (what, length, end - position),
                         position)
        return position + length

    def tag(self, position, end, what):
        at = position
        tag, position = self.varint(position, end, what)
        number, wire_type = tag >> 3, tag & 7
        if not 1 <= number <= _MAX_FIELD_NUMBER:
            self.corrupt('%s has field number %d' % (what, number), at)
        if wire_type > _FIXED32:
            self.corrupt('%s: field %d has wire type %d, which does not exist' %
                         (what, number, wire_type), at)
        return number, wire_type, position

    def unknown(self, number, wire_type, position, end, depth, what):
        """Skips a field that the schema has not; groups are walked."""
        self.count_part(position)
        if wire_type == _GROUP_END:
            self.corrupt('%s: wire type of a group that never began' % what, position)
        if wire_type != _GROUP_START:
            return self.skip(wire_type, position, end, '%s, field %d' % (what, number))
        if depth + 1 > MAX_NESTING:
            self.refuse('LIMIT', 'messages nested more than %d deep' % MAX_NESTING, position)
        while position < end:
            inner, inner_type, position = self.tag(position, end, what)
            if inner_type == _GROUP_END:
                if inner != number:
                    self.corrupt('%s: group %d ends as group %d' % (what, number, inner), position)
                return position
            position = self.unknown(inner, inner_type, position, end, depth + 1, what)
        return self.corrupt('%s: group %d does not end' % (what, number), position)

    def shape(self, wire_type, position, after, rank):
        """The rank after one more piece of a shape, packed or not."""
        if wire_type == _VARINT:
            rank += 1
        else:
            # Stops at the limit, however long the piece is.
            _, position = self.varint(position, after, 'shape')
            while position < after:
                _, position = self.varint(position, after, 'shape')
                rank += 1
                if rank > MAX_RANK:
                    break
        if rank > MAX_RANK:
            self.refuse('LIMIT', 'a tensor of more than %d dimensions' % MAX_RANK, position)
        return rank

    def message(self, descriptor, position, end, depth):
        if depth > MAX_NESTING:
            self.refuse('LIMIT', 'messages nested more than %d deep' % MAX_NESTING, position)
        fields = self.fields(descriptor)
        what = descriptor.name
        seen = set()
        rank = 0
        while position < end:
            at = position
            number, wire_type, position = self.tag(position, end, what)
            field = fields.get(number)
            if field is None:
                if not self.ignore_unknown:
                    self.corrupt('%s has field %d, which version 1.0 has not' % (what, number), at)
                position = self.unknown(number, wire_type, position, end, depth, what)
                continue
            name = '%s.%s' % (what, field.name)
            if wire_type != field.wire_type and not (field.packable and wire_type == _LENGTH):
                self.corrupt('%s: expected wire type %d, found %d' %
                             (name, field.wire_type, wire_type), at)
            if not field.repeated:
                if number in seen:
                    self.corrupt('%s comes twice' % name, at)
                seen.add(number)
            after = self.skip(wire_type, position, end, name)
            if wire_type == _LENGTH:
                length, inside = self.varint(position, end, name)
                if field.is_name and length > MAX_NAME_BYTES:
                    self.refuse('LIMIT', '%s has %d bytes: at most %d' %
                                (name, length, MAX_NAME_BYTES), inside)
                if field.message is not None:
                    self.count_part(at)
                    self.message(field.message, inside, after, depth + 1)
                elif field.is_string:
                    if field.repeated:
                        self.count_part(at)
                    try:
                        str(self.data[inside:after], 'utf-8')
                    except UnicodeDecodeError as error:
                        self.corrupt('%s is not UTF-8' % name, inside + error.start)
            if field.is_shape:
                rank = self.shape(wire_type, position, after, rank)
            position = after


def scan(data, descriptor, base, ignore_unknown):
    """Raises Refused (CORRUPT, LIMIT) unless `data` is one well-formed message within the limits.

    base: offset of `data` in the file, for messages.
    ignore_unknown: whether fields that the schema has not are passed over (later minors).
    """
    _Scanner(memoryview(data), base, ignore_unknown).message(descriptor, 0, len(data), 1)
