"""The manifest of version 1: one message, tensors inline."""

import re

from google.protobuf.message import DecodeError

from reprise_reader import envelope as envelope_module
from reprise_reader import refusal, wire
from reprise_reader.checkpoint import Checkpoint, Record
from reprise_reader.refusal import Refused
from reprise_reader.schema import checkpoint_pb2
from reprise_reader.schema import vocabulary_pb2 as vocabulary
from reprise_reader.v1 import items, optimizer, tensors, values

MAX_MANIFEST_BYTES = (1 << 31) - 1


def read(manifest, envelope, folder):
    """The Checkpoint of a manifest whose digest was checked; raises Refused.

    folder: where other files of the checkpoint would lie; version 1 has none.
    """
    del folder
    later = envelope.minor > 0
    wire.scan(manifest, checkpoint_pb2.Checkpoint.DESCRIPTOR, envelope_module.SIZE, later)
    try:
        message = checkpoint_pb2.Checkpoint.FromString(manifest)
    except DecodeError as error:
        raise Refused('CORRUPT', 'the manifest is no message of the schema: %s' % error)
    _check_run(message)
    presences, records = items.check_inventory(message, ignore_unknown=later)
    items.check_fields(message, presences)
    named = tensors.of_model(message.model)
    moments = optimizer.check(message, presences, named)
    values.check(message, presences)

    for tensor in moments.values():
        named.setdefault(tensor.name, tensor)
    run = message.run
    parent = None
    if run.HasField('parent'):
        parent = (run.parent.step, run.parent.manifest_digest)
    return Checkpoint(
        major=envelope.major, minor=envelope.minor, step=message.step, run_id=run.run_id,
        attempt=run.attempt, parent=parent, manifest_digest=envelope.manifest_digest,
        inventory=[Record(item, refusal.text(vocabulary.Presence, record.presence),
                          record.as_of_step, record.reason) for _, item, record in records],
        tensors=named, moments=moments, message=message,
        bytes=envelope_module.SIZE + len(manifest))


def _check_run(message):
    """RUN-1 and RUN-3."""
    run = message.run
    if not message.HasField('step'):
        raise Refused('MISSING_ITEM', 'counters.step: step is not in the file')
    if not run.run_id:
        raise Refused('MISSING_ITEM', 'run: run.run_id is not in the file')
    if not run.HasField('attempt'):
        raise Refused('MISSING_ITEM', 'run: run.attempt is not in the file')
    if not re.fullmatch('[0-9a-f]{32}', run.run_id):
        raise Refused('INVALID_VALUE', 'run: expected a run id of 32 lower-case hexadecimal '
                      'digits, found %r' % run.run_id)
    if run.attempt < 1:
        raise Refused('INVALID_VALUE', 'run: expected an attempt of at least 1, found 0')
    if not run.HasField('parent'):
        return
    if not run.parent.HasField('step'):
        raise Refused('MISSING_ITEM', 'run: run.parent.step is not in the file')
    if run.attempt == 1:
        raise Refused('INVALID_VALUE', 'run: attempt 1 has a parent')
    if run.parent.step > message.step:
        raise Refused('INVALID_VALUE', 'run: expected a parent of a step up to %d, found %d' %
                      (message.step, run.parent.step))
    if len(run.parent.manifest_digest) != 16:
        raise Refused('INVALID_VALUE', 'run: expected a parent digest of 16 bytes, found %d' %
                      len(run.parent.manifest_digest))
