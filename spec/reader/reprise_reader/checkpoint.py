"""What reading gives, whatever the major version."""

import collections

# item, presence: canonical texts of the vocabulary. reason: '' unless NOT_APPLICABLE or OMITTED.
Record = collections.namedtuple('Record', 'item presence as_of_step reason')


class Checkpoint:
    """A verified checkpoint; not to be changed.

    major, minor     format version
    step             attempted steps completed
    micro_step       micro-steps of the next step that are done; 0 at a boundary
    value_digest     16 bytes; b'' in version 1
    run_id           32 hexadecimal digits
    attempt          1 for the first process of the run
    parent           (step, digest of 16 bytes) resumed from, or None; of the manifest, or of the value
                     where only that is recorded
    manifest_digest  16 bytes
    inventory        list of Record, by ascending number of the item
    tensors          dict of name -> Tensor, in the file's order. Parameters and buffers have their
                     names, optimizer moments 'PARAMETER:MOMENT'. A parameter of that very name
                     hides the moment; `moments` holds every one. Others of version 2 have their
                     role before the name: 'ema:fc.weight'.
    moments          dict of (parameter, moment) -> Tensor
    message          protobuf message of the major's schema: everything else
    bytes            of the manifest file
    """

    micro_step = 0
    value_digest = b''

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def presence(self, item):
        """The presence of an item, e.g. 'SAVED'; None when this version does not record it."""
        for record in self.inventory:
            if record.item == item:
                return record.presence
        return None
