"""Reads Reprise checkpoints; written from spec/SPEC.md, independent of the C++ library.

    import reprise_reader

    checkpoint = reprise_reader.read('RUN/step-000000000060')
    print(checkpoint.step, checkpoint.manifest_digest.hex())
    for record in checkpoint.inventory:
        print(record.item, record.presence, record.reason)
    weight = checkpoint.tensors['fc.weight']          # name, dtype, shape, data (bytes)
    moment = checkpoint.tensors['fc.weight:exp_avg']  # of the optimizer
    values = weight.values()                          # or weight.numpy(), where numpy is there

`read` hands nothing out before every rule of the specification holds; otherwise it raises `Refused`,
whose `refusal` is a name of the vocabulary ('CORRUPT') and whose text says file, offset, item,
expected and found. `read_bytes` does the same with a manifest file in memory, and
`run_folder.survey` lists a run folder. Thread-safe; nothing is cached or written.
"""

try:
    import google.protobuf
    import xxhash
except ImportError as error:
    raise ImportError('reprise_reader needs protobuf and xxhash: on Debian, apt-get install '
                      'python3-protobuf python3-xxhash and run /usr/bin/python3 (%s)' %
                      error) from error

from reprise_reader.checkpoint import Checkpoint, Record
from reprise_reader.reading import read, read_bytes
from reprise_reader.refusal import Refused
from reprise_reader.tensor import Tensor

__all__ = ['Checkpoint', 'Record', 'Refused', 'Tensor', 'read', 'read_bytes']
