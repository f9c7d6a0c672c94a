"""Which fields each item of version 1 has (SPEC.md, section 5), and whether they are there.

ITEM-4: an item that is SAVED has all of its fields. ITEM-5: one that is not has none.
"""

from reprise_reader import refusal
from reprise_reader.refusal import Refused
from reprise_reader.schema import vocabulary_pb2 as vocabulary

ITEMS = (
    'model.params', 'model.buffers', 'mode', 'optim.kind', 'optim.groups', 'optim.moments',
    'optim.step', 'optim.identity', 'sched.definition', 'sched.position', 'sched.unit',
    'sched.horizon', 'sched.base', 'sched.applied', 'scaler.scale', 'scaler.growth_tracker',
    'scaler.config', 'sampler.algorithm', 'sampler.seed', 'sampler.cursor', 'sampler.order',
    'data.batch', 'rng.cpu', 'rng.cuda', 'rng.data', 'clip', 'precision.flags', 'counters.step',
    'config', 'environment',
)

# (path of a field of a message that comes once, its item)
_SINGLE = (
    ('model.architecture', 'model.params'),
    ('model.initialisation', 'model.params'),
    ('optimizer.kind', 'optim.kind'),
    ('optimizer.arithmetic', 'optim.kind'),
    ('schedule.form', 'sched.definition'),
    ('schedule.warmup', 'sched.definition'),
    ('schedule.final_fraction', 'sched.definition'),
    ('schedule.position', 'sched.position'),
    ('schedule.unit', 'sched.unit'),
    ('schedule.horizon', 'sched.horizon'),
    ('scaler.scale', 'scaler.scale'),
    ('scaler.growth_tracker', 'scaler.growth_tracker'),
    ('scaler.growth_interval', 'scaler.config'),
    ('scaler.growth_factor', 'scaler.config'),
    ('scaler.backoff_factor', 'scaler.config'),
    ('scaler.min_scale', 'scaler.config'),
    ('scaler.arithmetic', 'scaler.config'),
    ('sampler.algorithm', 'sampler.algorithm'),
    ('sampler.seed', 'sampler.seed'),
    ('sampler.epoch', 'sampler.cursor'),
    ('sampler.batch_index', 'sampler.cursor'),
    ('sampler.dataset_size', 'sampler.order'),
    ('sampler.batch_size', 'data.batch'),
    ('environment.autocast_dtype', 'precision.flags'),
    ('environment.deterministic', 'precision.flags'),
    ('environment.allow_tf32', 'precision.flags'),
    ('environment.level', 'environment'),
    ('environment.device', 'environment'),
    ('environment.threads', 'environment'),
    ('environment.world_size', 'environment'),
    ('environment.kernel_probe', 'environment'),
)
# May be absent, and are there only when the item is SAVED.
_SINGLE_OPTIONAL = (
    ('environment.trainer_version', 'environment'),
    ('environment.libtorch_version', 'environment'),
    ('environment.compiler', 'environment'),
    ('environment.device_name', 'environment'),
    ('environment.cpu_capability', 'environment'),
)
# Lists: one without an element is absent.
_LISTS = (
    ('model.parameters', 'model.params'),
    ('model.buffers', 'model.buffers'),
    ('config.fields', 'config'),
)
# Submessages that are there only when one of their items is SAVED.
_MESSAGES = {name: [item for item in ITEMS if item.startswith(prefixes)] for name, prefixes in (
    ('optimizer', ('optim.',)),
    ('schedule', ('sched.definition', 'sched.position', 'sched.unit', 'sched.horizon')),
    ('scaler', ('scaler.',)),
    ('sampler', ('sampler.', 'data.', 'rng.data')),
)}
GROUP_OPTIONS = ('beta1', 'beta2', 'eps', 'momentum', 'dampening', 'nesterov')
GROUP_OPTIONS_OF = {
    'adam': ('beta1', 'beta2', 'eps'),
    'adamw': ('beta1', 'beta2', 'eps'),
    'sgd': ('momentum', 'dampening', 'nesterov'),
}


def is_there(message, name):
    """Whether a field that is not repeated has a value; a string or enum of 0 has none."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.has_presence:
        return message.HasField(name)
    return bool(getattr(message, name))


class Presences:
    """Presence of each item, and the two rules that follow from it."""

    def __init__(self, presences):
        self._presences = presences

    def of(self, item):
        return self._presences[item]

    def saved(self, item):
        return self._presences[item] == 'SAVED'

    def field(self, item, path, there):
        """The field `path` belongs to `item`, and is there or not."""
        if self.saved(item) and not there:
            raise Refused('MISSING_ITEM', '%s is SAVED and its field %s is not in the file' %
                          (item, path))
        self.optional(item, path, there)

    def optional(self, item, path, there):
        if there and not self.saved(item):
            raise Refused('INVALID_VALUE', '%s is %s and its field %s is in the file' %
                          (item, self.of(item), path))


def check_inventory(message, ignore_unknown):
    """ITEM-1 to ITEM-3. Returns Presences and the records, as (number, item, record)."""
    seen = {}
    for record in message.inventory:
        item = refusal.text(vocabulary.Item, record.item)
        if item not in ITEMS:
            if ignore_unknown:
                continue
            raise Refused('INVALID_VALUE', 'inventory: %s is no item of version 1' % item)
        if item in seen:
            raise Refused('INVALID_VALUE', 'inventory: two records of %s' % item)
        presence = refusal.text(vocabulary.Presence, record.presence)
        if presence not in ('SAVED', 'EMPTY', 'NOT_APPLICABLE', 'OMITTED'):
            raise Refused('INVALID_VALUE', '%s: presence %d' % (item, record.presence))
        if presence == 'EMPTY' and item not in ('optim.moments', 'optim.step'):
            raise Refused('INVALID_VALUE', '%s cannot be EMPTY' % item)
        reasoned = presence in ('NOT_APPLICABLE', 'OMITTED')
        if reasoned and not record.reason:
            raise Refused('MISSING_ITEM', '%s is %s and gives no reason' % (item, presence))
        if record.reason and not reasoned:
            raise Refused('INVALID_VALUE', '%s is %s and gives a reason' % (item, presence))
        if not record.HasField('as_of_step'):
            raise Refused('MISSING_ITEM', '%s: as_of_step is not in the file' % item)
        if record.as_of_step != message.step:
            raise Refused('INVALID_VALUE', '%s is as of step %d, the checkpoint of step %d' %
                          (item, record.as_of_step, message.step))
        seen[item] = (record.item, presence, record)
    for item in ITEMS:
        if item not in seen:
            raise Refused('MISSING_ITEM', 'the inventory has no record of %s' % item)
    presences = Presences({item: presence for item, (_, presence, _) in seen.items()})
    if not presences.saved('counters.step'):
        raise Refused('INVALID_VALUE', 'counters.step is %s: it is always SAVED' %
                      presences.of('counters.step'))
    return presences, sorted(((number, item, record)
                              for item, (number, _, record) in seen.items()),
                             key=lambda entry: entry[0])


def check_fields(message, presences):
    """ITEM-4 and ITEM-5 for every field but the generators' and the states'."""
    for path, item in _SINGLE:
        outer, name = path.split('.')
        presences.field(item, path, is_there(getattr(message, outer), name))
    for path, item in _SINGLE_OPTIONAL:
        outer, name = path.split('.')
        presences.optional(item, path, is_there(getattr(message, outer), name))
    for path, item in _LISTS:
        outer, name = path.split('.')
        presences.field(item, path, bool(getattr(getattr(message, outer), name)))
    for name, owners in _MESSAGES.items():
        if message.HasField(name) and not any(map(presences.saved, owners)):
            raise Refused('INVALID_VALUE', '%s is %s and %s is in the file' %
                          (owners[0], presences.of(owners[0]), name))
    # The algorithm may be named where the item is NOT_APPLICABLE.
    named = bool(message.sampler.stream_algorithm)
    if presences.of('rng.data') != 'NOT_APPLICABLE':
        presences.field('rng.data', 'sampler.stream_algorithm', named)
    _check_groups(message.optimizer, presences)


def _check_groups(optimizer, presences):
    # SCHED-2: without a schedule the learning rates belong to the groups.
    owners = {name: item if presences.of(item) != 'NOT_APPLICABLE' else 'optim.groups'
              for name, item in (('lr', 'sched.applied'), ('base_lr', 'sched.base'))}
    for index, group in enumerate(optimizer.groups):
        path = 'optimizer.groups[%d].' % index
        presences.field('optim.groups', path + 'name', bool(group.name))
        presences.field('optim.groups', path + 'weight_decay', group.HasField('weight_decay'))
        for name, item in owners.items():
            presences.field(item, path + name, group.HasField(name))
        presences.optional('optim.identity', path + 'parameters', bool(group.parameters))
        options = GROUP_OPTIONS_OF.get(optimizer.kind)
        for name in GROUP_OPTIONS:
            there = group.HasField(name)
            if options is None or not presences.saved('optim.groups'):
                presences.optional('optim.groups', path + name, there)
            elif name in options:
                presences.field('optim.groups', path + name, there)
            elif there:
                raise Refused('INVALID_VALUE', 'optim.groups: %s%s is no option of %s' %
                              (path, name, optimizer.kind))
