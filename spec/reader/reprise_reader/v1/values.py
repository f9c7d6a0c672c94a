"""Ranges of single values: schedule, scaler, data, generators, configuration, environment."""

import math
import re

from reprise_reader import refusal
from reprise_reader.refusal import Refused
from reprise_reader.schema import checkpoint_pb2
from reprise_reader.schema import vocabulary_pb2 as vocabulary

_GENERATOR = re.compile(r'cpu|cuda:(0|[1-9][0-9]*)')


def _require(holds, message):
    if not holds:
        raise Refused('INVALID_VALUE', message)


def check(message, presences):
    _check_schedule(message.schedule)
    _check_scaler(message.scaler)
    _check_sampler(message.sampler)
    _check_generators(message.random, presences)
    _check_config(message.config)
    _check_environment(message.environment)


def _check_schedule(schedule):
    unit = schedule.unit
    _require(unit in checkpoint_pb2.Schedule.Unit.values(), 'sched.unit: %d' % unit)
    if schedule.HasField('horizon'):
        _require(schedule.horizon >= 1, 'sched.horizon: expected at least 1, found 0')
        _require(schedule.warmup <= schedule.horizon,
                 'sched.definition: warm-up %d is longer than the horizon %d' %
                 (schedule.warmup, schedule.horizon))
    _require(0 <= schedule.final_fraction <= 1,
             'sched.definition: expected a final fraction in [0, 1], found %r' %
             schedule.final_fraction)


def _check_scaler(scaler):
    if scaler.HasField('scale'):
        _require(math.isfinite(scaler.scale) and scaler.scale > 0,
                 'scaler.scale: scale %g is not positive and finite' % scaler.scale)
    if scaler.HasField('growth_interval'):
        _require(scaler.growth_interval >= 1,
                 'scaler.config: expected a growth interval of at least 1, found 0')
        _require(scaler.growth_tracker < scaler.growth_interval,
                 'scaler.growth_tracker: expected less than the growth interval %d, found %d' %
                 (scaler.growth_interval, scaler.growth_tracker))
    if scaler.HasField('growth_factor'):
        _require(1 < scaler.growth_factor < math.inf,
                 'scaler.config: growth factor %r is not above 1 and finite' %
                 scaler.growth_factor)
    if scaler.HasField('backoff_factor'):
        _require(0 < scaler.backoff_factor < 1,
                 'scaler.config: backoff factor %r is not in (0, 1)' % scaler.backoff_factor)
    _require(0 <= scaler.min_scale < math.inf,
             'scaler.config: smallest scale %r is not finite and at least 0' % scaler.min_scale)


def _check_sampler(sampler):
    size, batch = sampler.dataset_size, sampler.batch_size
    if sampler.HasField('batch_size'):
        _require(batch >= 1, 'data.batch: expected at least 1, found 0')
    if not (sampler.HasField('batch_size') and sampler.HasField('dataset_size')):
        return
    _require(size >= batch, 'sampler.order: a data set of %d for batches of %d' % (size, batch))
    batches = size // batch
    _require(sampler.batch_index < batches, 'sampler.cursor: batch index %d in an epoch of %d' %
             (sampler.batch_index, batches))
    cursor = (sampler.epoch * batches + sampler.batch_index) * batch
    _require(cursor < 1 << 64, 'sampler.cursor: %d samples: expected less than 2^64' % cursor)


def _check_generators(random, presences):
    names = set()
    for generator in random.generators:
        name = generator.name
        _require(_GENERATOR.fullmatch(name), 'random.generators: expected cpu or cuda:<index>, '
                 'found %r' % name)
        _require(name not in names, 'random.generators: two are called %s' % name)
        names.add(name)
        item = 'rng.cpu' if name == 'cpu' else 'rng.cuda'
        presences.optional(item, 'random.generators[%s]' % name, True)
        for field in ('algorithm', 'library', 'state'):
            presences.field(item, 'random.generators[%s].%s' % (name, field),
                            bool(getattr(generator, field)))
    presences.field('rng.cpu', 'random.generators[cpu]', 'cpu' in names)
    presences.field('rng.cuda', 'random.generators[cuda:*]', bool(names - {'cpu'}))


def _check_config(config):
    paths = set()
    for field in config.fields:
        if not field.path:
            raise Refused('MISSING_ITEM', 'config: a field has no path')
        _require('\0' not in field.path, 'config: the path %r has a NUL' % field.path)
        _require(field.path not in paths, 'config: %s comes twice' % field.path)
        paths.add(field.path)
        if not field.rule:
            raise Refused('MISSING_ITEM', 'config: %s has no resume rule' % field.path)
        _require(field.rule in vocabulary.ResumeRule.values(), 'config: %s has resume rule %d' %
                 (field.path, field.rule))


def _check_environment(environment):
    _require(environment.level in vocabulary.ResumeLevel.values(),
             'environment: level %s' % refusal.text(vocabulary.ResumeLevel, environment.level))
    for name in ('threads', 'world_size'):
        _require(not environment.HasField(name) or getattr(environment, name) >= 1,
                 'environment: expected %s of at least 1, found 0' % name)
    probe = environment.kernel_probe
    _require(len(probe) in (0, 16), 'environment: expected a kernel probe of 16 bytes, found %d' %
             len(probe))
