"""One broken rule each: the small vector, changed and sealed again."""

import unittest

from files import VECTORS, RefusalTest, message, seal
from reprise_reader import read_bytes
from reprise_reader.schema import vocabulary_pb2
from reprise_reader.v1 import items

NAN, INF = float('nan'), float('inf')


def record(m, item):
    for r in m.inventory:
        if r.item == vocabulary_pb2.Item.Value(item.replace('.', '_').upper()):
            return r
    raise KeyError(item)


def mark(m, item, presence, reason=''):
    r = record(m, item)
    r.presence = {'SAVED': 1, 'EMPTY': 2, 'NOT_APPLICABLE': 3, 'OMITTED': 4}[presence]
    r.reason = reason


class RulesTest(RefusalTest):

    def broken(self, change, refusal, text, minor=0, base=None):
        """`change` takes a message and breaks it."""
        m = message() if base is None else message(VECTORS + base)
        change(m)
        return self.refused(seal(m.SerializeToString(), minor=minor), refusal, text)

    def set(self, path, value, refusal, text):
        """Sets the field `path`, such as 'optimizer.groups.0.lr', or clears it (None)."""
        def change(m):
            outer, name = m, path
            while '.' in name:
                first, name = name.split('.', 1)
                outer = outer[int(first)] if first.isdigit() else getattr(outer, first)
            if value is None:
                outer.ClearField(name)
            elif isinstance(value, list):
                outer.ClearField(name)
                getattr(outer, name).extend(value)
            else:
                setattr(outer, name, value)
        with self.subTest(path, value=value):
            self.broken(change, refusal, text)

    def reads(self, change, minor=0):
        m = message()
        change(m)
        return read_bytes(seal(m.SerializeToString(), minor=minor))

    def test_ITEM_4_each_absent_field_is_missing_by_item_and_name(self):
        fields = [(path, item) for path, item in items._SINGLE]  # pylint: disable=protected-access
        fields += [('optimizer.groups.1.' + name, item) for name, item in (
            ('name', 'optim.groups'), ('weight_decay', 'optim.groups'), ('beta1', 'optim.groups'),
            ('beta2', 'optim.groups'), ('eps', 'optim.groups'), ('lr', 'sched.applied'),
            ('base_lr', 'sched.base'))]
        fields += [('optimizer.states.1.' + name, item) for name, item in (
            ('parameter', 'optim.identity'), ('step', 'optim.step'), ('moments', 'optim.moments'))]
        fields += [('random.generators.0.' + name, 'rng.cpu') for name in (
            'algorithm', 'library', 'state')]
        fields += [('sampler.stream_algorithm', 'rng.data'), ('random', 'rng.cpu'),
                   ('model.parameters.0.name', 'model.params'),
                   ('model.buffers.0.name', 'model.buffers'),
                   ('optimizer.states.0.moments.0.name', 'optim.moments'),
                   ('optimizer.states', 'optim.moments'),
                   ('config.fields.0.path', 'config'), ('config.fields.0.rule', 'config')]
        for path, item in fields:
            self.set(path, None, 'MISSING_ITEM', item)

    def test_ITEM_5_each_field_of_an_item_that_is_not_saved_is_invalid(self):
        for path, item in items._SINGLE + items._LISTS:  # pylint: disable=protected-access
            with self.subTest(path):
                self.broken(lambda m, i=item: mark(m, i, 'OMITTED', 'left out'), 'INVALID_VALUE',
                            item)
        for item in ('optim.groups', 'optim.moments', 'optim.step', 'optim.identity', 'sched.base',
                     'sched.applied', 'rng.cpu', 'rng.data'):
            with self.subTest(item):
                self.broken(lambda m, i=item: mark(m, i, 'OMITTED', 'left out'), 'INVALID_VALUE',
                            item)

    def test_ITEM_5_stream_may_be_named_where_rng_data_is_not_applicable(self):
        self.reads(lambda m: mark(m, 'rng.data', 'NOT_APPLICABLE', 'no augmentation'))

    def test_RUN_1_and_RUN_3(self):
        self.set('step', None, 'MISSING_ITEM', 'counters.step')
        self.set('run', None, 'MISSING_ITEM', 'run_id')
        self.set('run.attempt', None, 'MISSING_ITEM', 'attempt')
        self.set('run.attempt', 0, 'INVALID_VALUE', 'attempt')
        for run_id in ('0123456789ABCDEF' * 2, '0' * 31, '0' * 33, 'g' * 32, '0' * 32 + '\n'):
            self.set('run.run_id', run_id, 'INVALID_VALUE', 'run id')
        parent = dict(step=60, manifest_digest=bytes(16))
        for attempt, change, text in ((1, {}, 'attempt 1 has a parent'), (2, {'step': 61}, '61'),
                                      (2, {'manifest_digest': bytes(15)}, 'found 15'),
                                      (2, {'step': None}, 'run.parent.step')):
            def have(m, attempt=attempt, change=change):
                m.run.attempt = attempt
                fields = {k: v for k, v in dict(parent, **change).items() if v is not None}
                m.run.parent.SetInParent()
                for key, value in fields.items():
                    setattr(m.run.parent, key, value)
            self.broken(have, 'MISSING_ITEM' if 'parent.step' in text else 'INVALID_VALUE', text)

    def test_ITEM_1_to_ITEM_3(self):
        self.broken(lambda m: m.inventory.add().CopyFrom(m.inventory[0]), 'INVALID_VALUE', 'two')
        for number in (0, 3, 100, 9999):
            self.broken(lambda m, n=number: m.inventory.add(item=n, presence=1, as_of_step=60),
                        'INVALID_VALUE', 'no item of version 1')
            self.assertEqual(len(self.reads(lambda m, n=number: m.inventory.add(item=n),
                                            minor=1).inventory), 30)
        for index, item in enumerate(items.ITEMS):
            self.broken(lambda m, i=index: m.inventory.pop(i), 'MISSING_ITEM', '')
            self.broken(lambda m, i=item: m.inventory.remove(record(m, i)), 'MISSING_ITEM', item)
        self.set('inventory.0.presence', 0, 'INVALID_VALUE', 'presence 0')
        self.set('inventory.0.presence', 5, 'INVALID_VALUE', 'presence 5')
        self.set('inventory.0.reason', 'because', 'INVALID_VALUE', 'reason')
        self.set('inventory.0.as_of_step', None, 'MISSING_ITEM', 'as_of_step')
        self.broken(lambda m: mark(m, 'clip', 'NOT_APPLICABLE'), 'MISSING_ITEM', 'no reason')
        self.broken(lambda m: mark(m, 'clip', 'EMPTY'), 'INVALID_VALUE', 'EMPTY')
        self.broken(lambda m: mark(m, 'counters.step', 'OMITTED', 'why'), 'INVALID_VALUE',
                    'counters.step')

    def test_ITEM_6_empty_after_an_applied_step(self):
        def empty(m):
            mark(m, 'optim.moments', 'EMPTY')
            mark(m, 'optim.step', 'EMPTY')
            m.optimizer.ClearField('states')
        self.broken(empty, 'MISSING_ITEM', 'optim.moments is EMPTY after 60')

        def only_moments(m):
            mark(m, 'optim.moments', 'EMPTY')
            m.schedule.unit = 2
            for state in m.optimizer.states:
                state.ClearField('moments')
        self.broken(only_moments, 'MISSING_ITEM', 'optim.moments is EMPTY after 60')

    def test_TEN_rules(self):
        self.set('model.parameters.0.dtype', 0, 'INVALID_VALUE', 'fc.weight: dtype 0')
        self.set('model.parameters.0.dtype', 14, 'INVALID_VALUE', 'fc.weight: dtype 14')
        self.set('model.parameters.0.data', bytes(25), 'CORRUPT', 'expected 24 bytes')
        self.set('model.parameters.0.shape', [1 << 62], 'LIMIT', '2^63 - 1')
        self.set('model.parameters.0.shape', [1 << 63, 1 << 63], 'LIMIT', '2^63 - 1')
        self.set('model.parameters.0.name', 'a\0b', 'INVALID_VALUE', 'NUL')
        self.set('model.buffers.0.name', 'fc.bias', 'INVALID_VALUE', 'two tensors')

    def test_OPT_rules(self):
        group, state = 'optimizer.groups.0.', 'optimizer.states.0.'
        self.set('optimizer.kind', 'lion', 'INVALID_VALUE', 'optim.kind')
        self.set(group + 'name', 'no_decay', 'INVALID_VALUE', 'two groups')
        self.set(group + 'parameters', ['fc.other'], 'INVALID_VALUE', 'fc.other')
        self.set(group + 'parameters', ['norm.mean'], 'INVALID_VALUE', 'norm.mean')
        self.set(group + 'parameters', [], 'INVALID_VALUE', 'in no group')
        for name, values in (('lr', (NAN, INF)), ('base_lr', (NAN,)), ('eps', (-1.0, INF)),
                             ('weight_decay', (-0.1, NAN)), ('beta1', (1.0, -0.1, NAN)),
                             ('beta2', (1.0,))):
            for value in values:
                self.set(group + name, value, 'INVALID_VALUE', name)
        for name, value in (('momentum', 0.0), ('dampening', 0.0), ('nesterov', False)):
            self.set(group + name, value, 'INVALID_VALUE', 'no option of adamw')
        self.reads(lambda m: setattr(m.optimizer.groups[0], 'lr', -1.0))
        self.set('optimizer.states.1.parameter', 'fc.weight', 'INVALID_VALUE', 'two states')
        self.set(state + 'parameter', 'fc.x', 'INVALID_VALUE', 'in no group')
        self.broken(lambda m: m.optimizer.states.pop(0), 'MISSING_ITEM', 'fc.weight has no state')
        self.broken(lambda m: m.optimizer.states[0].moments.pop(1), 'MISSING_ITEM', 'exp_avg_sq')
        self.set(state + 'moments.1.name', 'exp_avg', 'INVALID_VALUE', 'comes twice')
        self.set(state + 'moments.1.name', 'max_exp_avg_sq', 'INVALID_VALUE', 'no moment of adamw')
        self.set(state + 'moments.0.shape', [3, 2], 'INVALID_VALUE', 'shape [2, 3]')
        self.set(state + 'moments.0.dtype', 7, 'INVALID_VALUE', 'i32')
        self.set(state + 'moments.0.data', b'', 'CORRUPT', 'fc.weight:exp_avg')

    def test_OPT_4_state_without_moments_at_step_zero_and_moments_of_another_type(self):
        def none_yet(m):
            m.optimizer.states[1].ClearField('moments')
            m.optimizer.states[1].step = 0
        self.reads(none_yet)

        def wide(m):
            moment = m.optimizer.states[1].moments[0]
            moment.dtype, moment.data = 1, bytes(16)
        self.assertEqual(self.reads(wide).tensors['fc.bias:exp_avg'].dtype, 'f64')

    def test_schedule_and_scaler_ranges(self):
        for path, value, text in (
                ('schedule.horizon', 0, 'horizon'), ('schedule.warmup', 301, 'warm-up'),
                ('schedule.final_fraction', 1.5, 'fraction'),
                ('schedule.final_fraction', -0.5, 'fraction'),
                ('schedule.final_fraction', NAN, 'fraction'), ('schedule.unit', 5, 'sched.unit'),
                ('scaler.scale', -1.0, 'scale'), ('scaler.scale', NAN, 'scale'),
                ('scaler.scale', INF, 'scale'), ('scaler.growth_interval', 0, 'interval'),
                ('scaler.growth_tracker', 20, 'interval 20, found 20'),
                ('scaler.growth_factor', 1.0, 'growth factor'),
                ('scaler.growth_factor', INF, 'growth factor'),
                ('scaler.growth_factor', NAN, 'growth factor'),
                ('scaler.backoff_factor', 0.0, 'backoff'), ('scaler.backoff_factor', 1.0, 'backoff'),
                ('scaler.backoff_factor', NAN, 'backoff'), ('scaler.min_scale', -1.0, 'smallest'),
                ('scaler.min_scale', INF, 'smallest'), ('scaler.min_scale', NAN, 'smallest')):
            self.set(path, value, 'INVALID_VALUE', text)

    def test_data_ranges(self):
        self.set('sampler.batch_size', 0, 'INVALID_VALUE', 'data.batch')
        self.set('sampler.dataset_size', 9, 'INVALID_VALUE', 'data set of 9')
        self.set('sampler.batch_index', 100, 'INVALID_VALUE', 'epoch of 100')
        # (epoch * 100 + 60) * 10 reaches 2^64 between these two.
        last = ((1 << 64) // 10 - 60) // 100
        self.reads(lambda m: setattr(m.sampler, 'epoch', last))
        self.set('sampler.epoch', last + 1, 'INVALID_VALUE', '2^64')

    def test_generators_configuration_environment(self):
        for name in ('', 'gpu', 'cuda', 'cuda:', 'cuda:01', 'cuda:-1', 'cpu:0', 'cpu\n'):
            self.set('random.generators.0.name', name, 'INVALID_VALUE', 'random.generators')
        self.set('random.generators.0.name', 'cuda:0', 'INVALID_VALUE', 'rng.cuda')
        self.broken(lambda m: m.random.generators.add().CopyFrom(m.random.generators[0]),
                    'INVALID_VALUE', 'two are called cpu')
        self.set('config.fields.0.path', 'run.seed', 'INVALID_VALUE', 'run.seed comes twice')
        self.set('config.fields.0.rule', 9, 'INVALID_VALUE', 'resume rule 9')
        self.set('environment.level', 9, 'INVALID_VALUE', 'level 9')
        self.set('environment.threads', 0, 'INVALID_VALUE', 'threads')
        self.set('environment.world_size', 0, 'INVALID_VALUE', 'world_size')
        self.set('environment.kernel_probe', bytes(15), 'INVALID_VALUE', 'found 15')
        for name in ('trainer_version', 'libtorch_version', 'compiler', 'device_name',
                     'cpu_capability'):
            self.reads(lambda m, n=name: m.environment.ClearField(n))


if __name__ == '__main__':
    unittest.main()
