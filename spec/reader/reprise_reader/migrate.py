"""Section 14 of SPEC.md: what a version 1 checkpoint is in version 2.

    migrated = migrate.to_v2(reprise_reader.read('RUN/step-000000000060'))
    print(migrated.value_digest.hex())
    for record in migrated.manifest.inventory: ...

In memory only: nothing is written.
"""

import collections

from reprise_reader.refusal import Refused
from reprise_reader.schema import manifest_pb2, training_pb2
from reprise_reader.schema import vocabulary_pb2 as vocabulary
from reprise_reader.v2 import reader, table, values

# manifest: a Manifest without its table and history. rows: of the table, without extents.
Migrated = collections.namedtuple('Migrated', 'manifest rows value_digest')

REASON = 'not recorded by v1'
CLIP_REASON = REASON + ' but in the configuration'
_DTYPES = {name: number for number, name in enumerate(reader.DTYPES) if name}
_OPTIONS = ('weight_decay', 'beta1', 'beta2', 'eps', 'momentum', 'dampening', 'nesterov')
_SAMPLER = (('algorithm', 'SAMPLER_ALGORITHM'), ('seed', 'SAMPLER_SEED'),
            ('dataset_size', 'SAMPLER_ORDER'), ('batch_size', 'DATA_BATCH'))


def to_v2(checkpoint):
    """The Migrated of a Checkpoint of version 1; raises Refused (MIG-5, MIG-9)."""
    step = _Step(checkpoint)
    step.records()
    step.everything()
    return step.result()


class _Step:

    def __init__(self, checkpoint):
        self.checkpoint = checkpoint
        self.v1 = checkpoint.message
        self.m = manifest_pb2.Manifest()
        self.presence = {}  # after the migration, by the name of the item
        self.reason = {}
        self.before = {}
        for record in checkpoint.inventory:
            item = record.item.replace('.', '_').upper()
            self.before[item] = vocabulary.Presence.Value('PRESENCE_' + record.presence)
            self.reason[item] = record.reason

    def saved(self, item):
        return self.presence[item] == values.SAVED

    def mark_saved(self, item):
        self.presence[item], self.reason[item] = values.SAVED, ''

    def records(self):
        """MIG-3 and the table of MIG-4."""
        for item in values.ITEMS.values():
            if item in self.before:
                self.presence[item] = self.before[item]
            else:
                self.presence[item], self.reason[item] = values.OMITTED, REASON
        if self.saved('CLIP'):
            self.presence['CLIP'], self.reason['CLIP'] = values.OMITTED, CLIP_REASON
        if self.saved('OPTIM_GROUPS'):
            for item in ('SCHED_APPLIED', 'SCHED_BASE'):
                if self.presence[item] == values.NOT_APPLICABLE:
                    self.mark_saved(item)
        if self.presence['RNG_DATA'] == values.NOT_APPLICABLE and self.v1.sampler.stream_algorithm:
            self.mark_saved('RNG_DATA')
        self.applied = self._applied_steps()
        if self.applied is not None:
            self.mark_saved('COUNTERS_APPLIED')
            self.mark_saved('COUNTERS_SKIPPED')
        if self.saved('SAMPLER_CURSOR'):
            self.mark_saved('COUNTERS_SAMPLES')

    def _applied_steps(self):
        """MIG-5; None when nothing in the file says it."""
        accounts = []
        schedule = self.v1.schedule
        if (self.saved('SCHED_POSITION') and self.saved('SCHED_UNIT') and
                schedule.unit == training_pb2.Schedule.APPLIED):
            accounts.append(schedule.position)
        if values.EMPTY in (self.presence['OPTIM_STEP'], self.presence['OPTIM_MOMENTS']):
            accounts.append(0)
        if self.saved('OPTIM_STEP'):
            taken = [s.step for s in self.v1.optimizer.states if s.step or s.moments]
            accounts += taken or [0]
        if not accounts:
            return None
        if len(set(accounts)) > 1 or accounts[0] > self.v1.step:
            raise Refused('INVALID_VALUE', 'optim.step: %s applied steps of %d attempted ones' %
                          (sorted(set(accounts)), self.v1.step))
        return accounts[0]

    def everything(self):
        v1, m = self.v1, self.m
        m.run.run_id, m.run.attempt = v1.run.run_id, v1.run.attempt
        if v1.run.HasField('parent'):
            m.run.parent.step = v1.run.parent.step
            m.run.parent.manifest_digest = v1.run.parent.manifest_digest
        m.step = v1.step
        for number, item in sorted(values.ITEMS.items()):
            m.inventory.add(item=number, presence=self.presence[item], as_of_step=v1.step,
                            reason=self.reason[item])
        if self.saved('MODEL_PARAMS'):
            m.model.architecture = v1.model.architecture
            m.model.initialisation = v1.model.initialisation
        if self.saved('MODE'):
            m.model.mode = training_pb2.Model.TRAIN
        if v1.HasField('optimizer'):
            self._optimizer()
        if v1.HasField('schedule'):
            _copy(v1.schedule, m.schedule)
        if v1.HasField('scaler'):
            _copy(v1.scaler, m.scaler)
        if v1.HasField('sampler'):
            self._sampler()
        if self.saved('COUNTERS_APPLIED'):
            m.counters.applied = self.applied
            m.counters.skipped = v1.step - self.applied
        if self.saved('COUNTERS_SAMPLES'):
            m.counters.samples = m.sampler.cursor
        generators = {g.name: g for g in v1.random.generators}
        if 'cpu' in generators:
            _copy(generators.pop('cpu'), m.random.cpu)
        for name in sorted(generators, key=lambda n: (len(n), n)):
            _copy(generators[name], m.random.cuda.add())
        if self.saved('PRECISION_FLAGS'):
            _copy(v1.environment, m.precision)
        if self.saved('ENVIRONMENT'):
            _copy(v1.environment, m.environment)
        for field in sorted(v1.config.fields, key=lambda f: f.path.encode()):
            recorded = field.rule == vocabulary.RECORDED
            to = (m.config.recorded if recorded else m.config.fields).add()
            _copy(field, to)
            to.value = field.value
        m.about.writer, m.about.host = v1.about.writer, v1.about.host
        m.about.created_unix_nanos = v1.about.created_unix_nanos

    def _optimizer(self):
        optimizer, to = self.v1.optimizer, self.m.optimizer
        to.SetInParent()
        to.kind, to.arithmetic = optimizer.kind, optimizer.arithmetic
        steps = {state.parameter: state.step for state in optimizer.states}
        for group in optimizer.groups:
            out = to.groups.add(name=group.name)
            if self.saved('OPTIM_IDENTITY'):
                out.parameters.text = ''.join(group.parameters).encode()
                out.parameters.lengths.extend(len(p.encode()) for p in group.parameters)
                out.parameters.SetInParent()
            if self.saved('OPTIM_STEP'):
                out.steps.extend(steps[p] for p in group.parameters)
            for name, item in (('lr', 'SCHED_APPLIED'), ('base_lr', 'SCHED_BASE')):
                if self.saved(item):
                    setattr(out, name, getattr(group, name))
            for name in _OPTIONS:
                if group.HasField(name):
                    setattr(out, name, getattr(group, name))

    def _sampler(self):
        sampler, to = self.v1.sampler, self.m.sampler
        to.SetInParent()
        for name, item in _SAMPLER:
            if self.saved(item):
                setattr(to, name, getattr(sampler, name))
        if self.saved('DATA_BATCH'):
            to.tail = to.DROP
        if self.saved('SAMPLER_CURSOR'):
            batches = sampler.dataset_size // sampler.batch_size
            to.cursor = (sampler.epoch * batches + sampler.batch_index) * sampler.batch_size
        if self.saved('RNG_DATA'):
            to.stream_algorithm = sampler.stream_algorithm
        to.augmentation = sampler.augmentation

    def _rows(self):
        items = {name: number for number, name in values.ITEMS.items()}
        rows = []
        for tensor in self.checkpoint.tensors.values():
            if tensor.role in ('parameter', 'buffer'):
                item = 'MODEL_PARAMS' if tensor.role == 'parameter' else 'MODEL_BUFFERS'
                rows.append(_row(items, item, tensor.name, '', tensor))
        for (parameter, part), tensor in self.checkpoint.moments.items():
            rows.append(_row(items, 'OPTIM_MOMENTS', parameter, part, tensor))
        return sorted(rows, key=lambda r: (r.item, r.name.encode(), r.part.encode()))

    def result(self):
        rows = self._rows()
        # MIG-9.
        checks = values.Values(self.m)
        checks.check_records()
        checks.check_fields()
        checks.check_sorted()
        checks.check_values(rows)
        return Migrated(self.m, rows, reader.value_digest(self.m, rows))


def _copy(message, to):
    """Fields that both have, by name."""
    to.SetInParent()
    names = {field.name for field in to.DESCRIPTOR.fields}
    for field, value in message.ListFields():
        if field.name in names:
            setattr(to, field.name, value)


def _row(items, item, name, part, tensor):
    root = reader.root_digest(len(tensor.data), reader.chunk_digests(tensor.data))
    return table.Row(items[item], item, name, part, _DTYPES[tensor.dtype], tuple(tensor.shape),
                     tuple(range(len(tensor.shape))), 0, root, [])
