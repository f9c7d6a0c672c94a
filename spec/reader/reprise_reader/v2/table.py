"""The table of tensors and the packing of shards: TABLE-1 to TABLE-9, SHARD-1 of SPEC.md."""

import dataclasses

from reprise_reader.refusal import Refused
from reprise_reader.v2.need import need

SIZES = {1: 8, 2: 4, 3: 2, 4: 2, 5: 8, 6: 8, 7: 4, 8: 4, 9: 2, 10: 2, 11: 1, 12: 1, 13: 1,
         14: 1, 15: 1, 16: 8, 17: 16}
WITH_TENSORS = {"MODEL_PARAMS", "MODEL_BUFFERS", "OPTIM_MOMENTS", "MASTER", "ACCUM_GRADS",
                "EMA_WEIGHTS", "USER"}
OF_MODEL = {"MODEL_PARAMS", "MODEL_BUFFERS"}
MAX_TENSORS = MAX_EXTENTS = 2**20


@dataclasses.dataclass
class Extent:
    """Where bytes of a tensor are; `start` and `shape` of the slice when there are several."""

    shard: int
    offset: int
    length: int
    start: tuple = None
    shape: tuple = None


@dataclasses.dataclass
class Row:
    """One tensor."""

    item: int
    item_name: str
    name: str
    part: str
    dtype: int
    shape: tuple
    order: tuple
    alias: int
    root: bytes
    extents: list

    @property
    def size(self):
        """In bytes."""
        return product(self.shape) * SIZES[self.dtype]


def product(numbers):
    """1 for none."""
    result = 1
    for number in numbers:
        result *= number
    return result


def check_name(what, name):
    """TABLE-3, of bytes; returns the text."""
    need(name, "MISSING_ITEM", f"a {what} without a name")
    need(len(name) <= 1024, "LIMIT", f"a {what}'s name has {len(name)} bytes")
    need(b"\0" not in name, "INVALID_VALUE", f"a {what}'s name contains NUL")
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("INVALID_VALUE", f"a {what}'s name is not UTF-8") from error


def unpack_names(names):
    """The bytes of each name of a Names message."""
    need(sum(names.lengths) == len(names.text), "CORRUPT", "the lengths of names do not add up")
    result = []
    position = 0
    for length in names.lengths:
        result.append(names.text[position : position + length])
        position += length
    return result


def bytes_of(dtype, shape):
    """TABLE-4."""
    need(dtype in SIZES, "INVALID_VALUE", f"dtype {dtype}")
    size = SIZES[dtype] * product(e for e in shape if e)
    need(size < 2**63, "LIMIT", "a tensor of 2^63 bytes or more")
    return 0 if 0 in shape else size


def _rows(table, item_names):
    count = len(table.names.lengths)
    need(count <= MAX_TENSORS, "LIMIT", f"{count} tensors")
    need(all(rank <= 32 for rank in table.ranks), "LIMIT", "rank above 32")
    dimensions = sum(table.ranks)
    columns = [(table.parts.lengths, count), (table.items, count), (table.dtypes, count),
               (table.ranks, count), (table.shapes, dimensions),
               (table.dimension_orders, dimensions), (table.aliases, count),
               (table.extent_counts, count)]
    for column, expected in columns:
        need(len(column) == expected, "CORRUPT", "columns of different lengths")
    need(len(table.root_digests) == 16 * count, "CORRUPT", "root digests of another number")
    need(all(n <= 1024 for n in table.extent_counts), "LIMIT", "too many extents of a tensor")
    extents = sum(table.extent_counts)
    need(extents <= MAX_EXTENTS, "LIMIT", f"{extents} extents")
    slices = sum(n * rank for n, rank in zip(table.extent_counts, table.ranks) if n > 1)
    for column, expected in [(table.extent_shards, extents), (table.extent_offsets, extents),
                             (table.extent_lengths, extents), (table.slice_starts, slices),
                             (table.slice_shapes, slices)]:
        need(len(column) == expected, "CORRUPT", "columns of extents of different lengths")
    names = unpack_names(table.names)
    parts = unpack_names(table.parts)
    dimension = extent = cut = 0
    for i in range(count):
        rank = table.ranks[i]
        row = Row(table.items[i], item_names.get(table.items[i], "?"), names[i], parts[i],
                  table.dtypes[i], tuple(table.shapes[dimension : dimension + rank]),
                  tuple(table.dimension_orders[dimension : dimension + rank]), table.aliases[i],
                  table.root_digests[16 * i : 16 * i + 16], [])
        dimension += rank
        for _ in range(table.extent_counts[i]):
            one = Extent(table.extent_shards[extent], table.extent_offsets[extent],
                         table.extent_lengths[extent])
            if table.extent_counts[i] > 1:
                one.start = tuple(table.slice_starts[cut : cut + rank])
                one.shape = tuple(table.slice_shapes[cut : cut + rank])
                cut += rank
            row.extents.append(one)
            extent += 1
        yield row


def _check_slices(row):
    total = 0
    for one in row.extents:
        for start, size, whole in zip(one.start, one.shape, row.shape):
            need(start + size <= whole, "CORRUPT", f"{row.name}: a slice outside")
        need(one.length == bytes_of(row.dtype, one.shape), "CORRUPT", f"{row.name}: slice size")
        total += one.length
    need(total == row.size, "CORRUPT", f"{row.name}: slices do not fill it")
    for i, a in enumerate(row.extents):
        for b in row.extents[i + 1 :]:
            apart = any(s >= t + n or t >= s + m
                        for s, m, t, n in zip(a.start, a.shape, b.start, b.shape))
            need(apart, "CORRUPT", f"{row.name}: slices overlap")


def _check_row(row):
    need(row.item_name in WITH_TENSORS, "INVALID_VALUE", f"{row.item_name} has no tensors")
    row.name = check_name("tensor", row.name)
    need((row.item_name == "OPTIM_MOMENTS") == bool(row.part), "INVALID_VALUE",
         f"{row.name}: moments, and only they, name their part")
    row.part = check_name("part", row.part) if row.part else ""
    size = bytes_of(row.dtype, row.shape)
    need(sorted(row.order) == list(range(len(row.shape))), "CORRUPT",
         f"{row.name}: the order is no permutation")
    if size == 0 or row.alias:
        need(not row.extents and (size != 0 or not row.alias), "CORRUPT",
             f"{row.name}: extents of an empty tensor or alias")
        return
    need(row.extents, "CORRUPT", f"{row.name}: no extents")
    if len(row.extents) > 1:
        _check_slices(row)
    else:
        need(row.extents[0].length == size, "CORRUPT", f"{row.name}: extent and shape differ")


def _check_alias(rows, index):
    row = rows[index]
    if not row.alias:
        return
    need(row.alias <= index, "CORRUPT", f"{row.name}: alias of no earlier tensor")
    owner = rows[row.alias - 1]
    same = (owner.alias == 0 and owner.extents and not row.extents
            and row.item_name in OF_MODEL and owner.item_name in OF_MODEL
            and (owner.dtype, owner.shape, owner.order, owner.root)
            == (row.dtype, row.shape, row.order, row.root))
    need(same, "CORRUPT", f"{row.name}: alias of another kind of tensor")


def _check_packing(rows, shards):
    placed = [[] for _ in shards]
    for row in rows:
        for one in row.extents:
            need(one.shard < len(shards), "CORRUPT", f"{row.name}: in no shard")
            placed[one.shard].append(one)
    for shard, extents in zip(shards, placed):
        end = 0
        for one in sorted(extents, key=lambda e: e.offset):
            need(one.offset == -(-end // 64) * 64, "CORRUPT", f"an extent at {one.offset}")
            need(one.length > 0, "CORRUPT", "an extent of no bytes")
            end = one.offset + one.length
        need(extents and shard.size == -(-end // 4096) * 4096, "CORRUPT", "size of a shard")


def decode(manifest, item_names):
    """The rows of the table, when every rule holds."""
    last = None
    for shard in manifest.shards:
        need(shard.HasField("writer") and shard.HasField("number") and shard.HasField("size"),
             "CORRUPT", "a shard lacks a field")
        need(last is None or last < (shard.writer, shard.number), "CORRUPT",
             "a shard comes twice or out of order")
        last = (shard.writer, shard.number)
    rows = []
    last = None
    for index, row in enumerate(_rows(manifest.tensors, item_names)):
        key = (row.item, row.name, row.part)
        rows.append(row)
        _check_row(row)
        _check_alias(rows, index)
        need(last is None or last < key, "INVALID_VALUE", f"{row.name}: not sorted, or twice")
        last = key
    _check_packing(rows, manifest.shards)
    return rows
