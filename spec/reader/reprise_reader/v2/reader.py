"""Folder, digests and shards of version 2; the manifest's rules are in table.py and values.py."""

import os
import stat
import struct

import xxhash
from google.protobuf.descriptor import FieldDescriptor as F

from reprise_reader import envelope as envelope_module
from reprise_reader import refusal
from reprise_reader.checkpoint import Checkpoint, Record
from reprise_reader.refusal import Refused
from reprise_reader.schema import annotations_pb2 as annotations
from reprise_reader.schema import manifest_pb2
from reprise_reader.schema import vocabulary_pb2 as vocabulary
from reprise_reader.tensor import Tensor
from reprise_reader.v2 import table, values, wire
from reprise_reader.v2.need import need

MAX_MANIFEST_BYTES = 1 << 28
CHUNK = 65536
DIGEST_MAGIC = bytes.fromhex("d25250440d0a1a0a")
ROLES = {"MODEL_PARAMS": "parameter", "MODEL_BUFFERS": "buffer", "OPTIM_MOMENTS": "moment",
         "MASTER": "master", "ACCUM_GRADS": "gradient", "EMA_WEIGHTS": "ema", "USER": "user"}
DTYPES = (None, "f64", "f32", "f16", "bf16", "i64", "u64", "i32", "u32", "i16", "u16", "i8", "u8",
          "bool", "f8e4m3fn", "f8e5m2", "c64", "c128")


# Digests: DIGEST-2.


def chunk_digests(data):
    """XXH3-64 of each chunk."""
    return [xxhash.xxh3_64_intdigest(data[i : i + CHUNK]) for i in range(0, len(data), CHUNK)]


def root_digest(size, chunks):
    """XXH3-128 over length and chunk digests."""
    return xxhash.xxh3_128_digest(struct.pack(f"<Q{len(chunks)}Q", size, *chunks))


# Value digest: VALUE-1 and VALUE-2.


def _n(number):
    return struct.pack("<Q", number & (2**64 - 1))


def _s(data):
    return _n(len(data)) + data


def _value(field, value):
    if field.type == F.TYPE_MESSAGE:
        return _message(value)
    if field.type == F.TYPE_STRING:
        return _s(value.encode())
    if field.type == F.TYPE_BYTES:
        return _s(value)
    if field.type == F.TYPE_FLOAT:
        return _n(struct.unpack("<I", struct.pack("<f", value))[0])
    if field.type == F.TYPE_DOUBLE:
        return struct.pack("<d", value)
    return _n(int(value))


def _message(message):
    out = b""
    for field in sorted(message.DESCRIPTOR.fields, key=lambda f: f.number):
        if field.GetOptions().Extensions[annotations.outside_value]:
            continue
        value = getattr(message, field.name)
        if field.label == F.LABEL_REPEATED:
            if value:
                out += _n(field.number) + _n(len(value))
                out += b"".join(_value(field, element) for element in value)
        elif message.HasField(field.name) if field.has_presence else value:
            out += _n(field.number) + _value(field, value)
    return out + _n(0)


def value_digest(manifest, rows):
    """16 bytes."""
    out = b"reprise-value-v1" + _n(len(manifest.inventory))
    for record in manifest.inventory:
        out += _n(record.item) + _n(record.presence)
    out += _message(manifest) + _n(len(rows))
    for row in rows:
        out += _n(row.item) + _s(row.name.encode()) + _s(row.part.encode()) + _n(row.dtype)
        out += _n(len(row.shape)) + b"".join(map(_n, row.shape)) + b"".join(map(_n, row.order))
        out += _n(row.alias) + row.root
    return xxhash.xxh3_128_digest(out)


def decode(manifest_bytes, minor):
    """(manifest, rows, value digest) of the bytes after the envelope: FOLD-6."""
    wire.scan(manifest_bytes, manifest_pb2.Manifest.DESCRIPTOR, unknown_allowed=minor > 0)
    manifest = manifest_pb2.Manifest.FromString(manifest_bytes)
    values.refuse_unknown_features(manifest)
    if minor > 0:
        # WIRE-4: items that a later minor records are ignored.
        for index in reversed(range(len(manifest.inventory))):
            if manifest.inventory[index].item > max(values.ITEMS):
                del manifest.inventory[index]
    checks = values.Values(manifest)
    checks.check_records()
    checks.check_fields()
    need(manifest.digest_algorithm == 1, "INVALID_VALUE", "digest algorithm")
    need(len(manifest.value_digest) == 16, "CORRUPT", "value digest")
    need(manifest.HasField("tensors"), "CORRUPT", "no table of tensors")
    checks.check_sorted()
    rows = table.decode(manifest, values.ITEMS)
    digest = value_digest(manifest, rows)
    if minor == 0:
        need(digest == manifest.value_digest, "CORRUPT", "value digest")
    checks.check_values(rows)
    return manifest, rows, manifest.value_digest


# Shards.


def open_regular(path):
    """A descriptor of a regular file; no link is followed, no pipe is waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Refused("ABSENT", "nothing of that name is there", path=path) from error
    except OSError as error:
        raise Refused("NOT_A_CHECKPOINT", error.strerror, path=path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused("NOT_A_CHECKPOINT", "not a regular file", path=path)
    return descriptor


def shard_name(shard):
    """FOLD-1."""
    return f"shard-{shard.writer:04d}-{shard.number:04d}.bin"


def _read_shards(folder, manifest):
    descriptors = []
    try:
        for shard in manifest.shards:
            path = os.path.join(folder, shard_name(shard))
            try:
                descriptors.append(open_regular(path))
            except Refused as refused:
                if refused.refusal != "ABSENT":
                    raise
                raise Refused("CORRUPT", "the manifest names it, and it is not there: an "
                              "incomplete copy", path=path) from refused
            size = os.fstat(descriptors[-1]).st_size
            need(size >= shard.size, "TRUNCATED", f"{path}: {size} bytes of {shard.size}")
            need(size == shard.size, "CORRUPT", f"{path}: {size} bytes, expected {shard.size}")
        return [os.pread(d, shard.size, 0) for d, shard in zip(descriptors, manifest.shards)]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _check_gaps(shards, rows):
    for index, data in enumerate(shards):
        end = 0
        extents = [e for row in rows for e in row.extents if e.shard == index]
        for extent in sorted(extents, key=lambda e: e.offset):
            need(not any(data[end : extent.offset]), "CORRUPT", f"not zero after {end}")
            end = extent.offset + extent.length
        need(not any(data[end:]), "CORRUPT", f"not zero after {end}")


def _assemble(row, shards):
    """The bytes of a whole tensor from its extents."""
    parts = [shards[e.shard][e.offset : e.offset + e.length] for e in row.extents]
    if len(parts) <= 1:
        return b"".join(parts)
    element = table.SIZES[row.dtype]
    shape = [row.shape[d] for d in row.order]
    whole = bytearray(row.size)
    for extent, part in zip(row.extents, parts):
        start = [extent.start[d] for d in row.order]
        size = [extent.shape[d] for d in row.order]
        for number in range(len(part) // element):
            place, rest = [], number
            for length in reversed(size):
                place.append(rest % length)
                rest //= length
            position = 0
            for length, begin, at in zip(shape, start, reversed(place)):
                position = position * length + begin + at
            whole[position * element : (position + 1) * element] = part[
                number * element : (number + 1) * element]
    return bytes(whole)


def _row_major(row, content):
    """The elements in logical order."""
    rank = len(row.shape)
    if row.order == tuple(range(rank)) or not content:
        return content
    element = table.SIZES[row.dtype]
    strides = [0] * rank
    stride = element
    for dimension in reversed(row.order):
        strides[dimension] = stride
        stride *= row.shape[dimension]
    out = bytearray()
    for number in range(row.size // element):
        position, rest = 0, number
        for dimension in reversed(range(rank)):
            position += rest % row.shape[dimension] * strides[dimension]
            rest //= row.shape[dimension]
        out += content[position : position + element]
    return bytes(out)


def read(manifest, envelope, folder):
    """The Checkpoint of a manifest whose digest was checked; raises Refused.

    folder: where the shards lie; None when there is only the manifest in memory.
    """
    manifest_bytes = manifest
    manifest, rows, digest = decode(manifest_bytes, envelope.minor)
    need(folder is not None or not manifest.shards, "ABSENT",
         "its tensors lie in shards beside it: read the folder")
    shards = _read_shards(folder, manifest)
    _check_gaps(shards, rows)
    contents = [_assemble(row, shards) for row in rows]
    tensors, moments = {}, {}
    for index, row in enumerate(rows):
        content = contents[row.alias - 1 if row.alias else index]
        need(root_digest(row.size, chunk_digests(content)) == row.root, "CORRUPT",
             f"{row.item_name} {row.name} {row.part}: root digest")
        role = ROLES[row.item_name]
        name = {"parameter": row.name, "buffer": row.name,
                "moment": f"{row.name}:{row.part}"}.get(role, f"{role}:{row.name}")
        tensor = Tensor(name, role, DTYPES[row.dtype], row.shape, _row_major(row, content),
                        row.order, content)
        if role == "moment":
            moments[(row.name, row.part)] = tensor
        tensors.setdefault(name, tensor)
    run = manifest.run
    parent = None
    if run.HasField("parent"):
        parent = (run.parent.step, run.parent.manifest_digest or run.parent.value_digest)
    records = [Record(refusal.text(vocabulary.Item, r.item),
                      refusal.text(vocabulary.Presence, r.presence), r.as_of_step, r.reason)
               for r in manifest.inventory]
    return Checkpoint(
        major=envelope.major, minor=envelope.minor, step=manifest.step,
        micro_step=manifest.accumulation.count, run_id=run.run_id, attempt=run.attempt,
        parent=parent, manifest_digest=envelope.manifest_digest, value_digest=digest,
        inventory=records, tensors=tensors, moments=moments, message=manifest, rows=rows,
        bytes=envelope_module.SIZE + len(manifest_bytes))


def _read_whole(path):
    descriptor = open_regular(path)
    with open(descriptor, "rb") as file:
        return file.read()


def check_other_files(checkpoint, folder):
    """FOLD-7: digest files are whole, and nothing else is in the folder."""
    known = {"manifest.ckpt"}
    for index, shard in enumerate(checkpoint.message.shards):
        name = shard_name(shard) + ".digests"
        known |= {shard_name(shard), name}
        rows = [row for row in checkpoint.rows if row.extents and row.extents[0].shard == index]
        rows.sort(key=lambda row: row.extents[0].offset)
        counts = [-(-row.size // CHUNK) for row in rows]
        data = _read_whole(os.path.join(folder, name))
        expected = 32 + 8 * sum(counts)
        need(len(data) >= expected, "TRUNCATED", name)
        need(len(data) == expected, "CORRUPT", name)
        need(xxhash.xxh3_128_digest(data[:-16]) == data[-16:], "CORRUPT", name)
        need(data[:16] == DIGEST_MAGIC + _n(sum(counts)), "CORRUPT", name)
        position = 16
        for row, count in zip(rows, counts):
            chunks = struct.unpack_from(f"<{count}Q", data, position)
            position += 8 * count
            need(root_digest(row.size, chunks) == row.root, "CORRUPT", f"{name}: {row.name}")
    for name in os.listdir(folder):
        need(name in known, "CORRUPT", f"{name} is no file of this checkpoint")
