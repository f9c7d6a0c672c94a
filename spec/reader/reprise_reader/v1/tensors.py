"""TEN-1 to TEN-3: makes Tensors of the schema's messages."""

from reprise_reader.refusal import Refused
from reprise_reader.schema import checkpoint_pb2
from reprise_reader.tensor import DTYPES, Tensor

_MAX_BYTES = (1 << 63) - 1
_MAX_NAME_BYTES = 1024


def make(message, role, name):
    """The tensor of a message; `name` is the one that people use for it."""
    if not message.name:
        raise Refused('MISSING_ITEM', '%s: a %s has no name' %
                      ('optim.moments' if role == 'moment' else 'model.%ss' % (
                          'param' if role == 'parameter' else role), role))
    if len(message.name.encode()) > _MAX_NAME_BYTES:
        raise Refused('LIMIT', 'the name of a %s has more than %d bytes' % (role, _MAX_NAME_BYTES))
    if '\0' in message.name:
        raise Refused('INVALID_VALUE', 'the name %r of a %s has a NUL' % (message.name, role))
    number = checkpoint_pb2.DType.DESCRIPTOR.values_by_number.get(message.dtype)
    dtype = '' if number is None else number.name.lower()
    if dtype not in DTYPES:
        raise Refused('INVALID_VALUE', '%s: dtype %d is none of version 1' % (name, message.dtype))
    size = DTYPES[dtype][0]
    for extent in message.shape:
        size *= extent
    # An extent above the limit is refused beside one of 0 as well.
    if size > _MAX_BYTES or max(message.shape, default=0) > _MAX_BYTES:
        raise Refused('LIMIT', '%s: shape %s has more than 2^63 - 1 bytes' %
                      (name, list(message.shape)))
    if size != len(message.data):
        raise Refused('CORRUPT', '%s: expected %d bytes by its shape, found %d' %
                      (name, size, len(message.data)))
    return Tensor(name, role, dtype, message.shape, message.data)


def of_model(model):
    """Parameters and buffers by name."""
    tensors = {}
    for role, messages in (('parameter', model.parameters), ('buffer', model.buffers)):
        for message in messages:
            tensor = make(message, role, message.name)
            if tensor.name in tensors:
                raise Refused('INVALID_VALUE', 'two tensors are called %s' % tensor.name)
            tensors[tensor.name] = tensor
    return tensors
