"""OPT-1 to OPT-4 and ITEM-6: the optimizer's groups and states."""

import math

from reprise_reader.refusal import Refused
from reprise_reader.schema import checkpoint_pb2
from reprise_reader.tensor import FLOATING
from reprise_reader.v1 import tensors as v1_tensors

_MOMENTS = {
    'adam': ('exp_avg', 'exp_avg_sq'),
    'adamw': ('exp_avg', 'exp_avg_sq'),
    'sgd': ('momentum_buffer',),
}


def _invalid(message):
    raise Refused('INVALID_VALUE', message)


def check(message, presences, tensors):
    """Returns the moments: dict of (parameter, moment) -> Tensor."""
    optimizer = message.optimizer
    if presences.saved('optim.kind') and optimizer.kind not in _MOMENTS:
        _invalid('optim.kind: expected adamw, adam or sgd, found %r' % optimizer.kind)
    grouped = _check_groups(optimizer, presences, tensors)
    moments = _check_states(optimizer, presences, grouped, tensors)
    _check_empty(message, presences)
    return moments


def _check_groups(optimizer, presences, tensors):
    names = set()
    grouped = {}
    for group in optimizer.groups:
        if '\0' in group.name:
            _invalid('optim.groups: the name %r of a group has a NUL' % group.name)
        if group.name and group.name in names:
            _invalid('optim.groups: two groups are called %s' % group.name)
        names.add(group.name)
        for parameter in group.parameters:
            if parameter in grouped:
                _invalid('optim.identity: %s is in the groups twice' % parameter)
            grouped[parameter] = group
            known = tensors.get(parameter)
            if presences.saved('model.params') and (known is None or known.role != 'parameter'):
                _invalid('optim.identity: group %s has %r, which is no parameter of the model' %
                         (group.name, parameter))
        _check_options(group)
    return grouped


def _check_options(group):
    for name in ('lr', 'base_lr', 'weight_decay', 'beta1', 'beta2', 'eps', 'momentum',
                 'dampening'):
        if not group.HasField(name):
            continue
        value = getattr(group, name)
        fits = math.isfinite(value)
        if name in ('weight_decay', 'eps', 'momentum'):
            fits = fits and value >= 0
        elif name in ('beta1', 'beta2'):
            fits = fits and 0 <= value < 1
        if not fits:
            _invalid('optim.groups: %s of group %s is %r' % (name, group.name, value))


def _check_states(optimizer, presences, grouped, tensors):
    moments = {}
    seen = set()
    for index, state in enumerate(optimizer.states):
        path = 'optimizer.states[%d].' % index
        presences.field('optim.identity', path + 'parameter', bool(state.parameter))
        presences.field('optim.step', path + 'step', state.HasField('step'))
        presences.optional('optim.moments', path + 'moments', bool(state.moments))
        if state.parameter:
            if state.parameter in seen:
                _invalid('optim.identity: two states of %s' % state.parameter)
            if state.parameter not in grouped:
                _invalid('optim.identity: a state of %r, which is in no group' % state.parameter)
            seen.add(state.parameter)
        _check_moments(optimizer.kind, state, presences, tensors, moments)
    for item in ('optim.moments', 'optim.step'):
        if presences.saved(item):
            for parameter in grouped:
                if parameter not in seen:
                    raise Refused('MISSING_ITEM', '%s is SAVED and %s has no state' %
                                  (item, parameter))
    if presences.saved('optim.moments') and not moments:
        raise Refused('MISSING_ITEM', 'optim.moments is SAVED and no parameter has any: before the '
                      'first applied step it is EMPTY')
    return moments


def _check_moments(kind, state, presences, tensors, moments):
    found = set()
    for message in state.moments:
        tensor = v1_tensors.make(message, 'moment', '%s:%s' % (state.parameter, message.name))
        if message.name in found:
            _invalid('optim.moments: %s comes twice' % tensor.name)
        if kind in _MOMENTS and message.name not in _MOMENTS[kind]:
            _invalid('optim.moments: %s is no moment of %s' % (tensor.name, kind))
        if tensor.dtype not in FLOATING:
            _invalid('optim.moments: %s is %s, no floating-point type' %
                     (tensor.name, tensor.dtype))
        parameter = tensors.get(state.parameter)
        if parameter is not None and parameter.shape != tensor.shape:
            _invalid('optim.moments: expected %s of shape %s, found %s' %
                     (tensor.name, list(parameter.shape), list(tensor.shape)))
        found.add(message.name)
        moments[state.parameter, message.name] = tensor
    if not presences.saved('optim.moments') or kind not in _MOMENTS:
        return
    if found and not state.step and presences.saved('optim.step'):
        _invalid('optim.step: %s has moments and no applied step' % state.parameter)
    missing = [name for name in _MOMENTS[kind] if name not in found]
    if missing and (found or state.step):
        raise Refused('MISSING_ITEM', 'optim.moments: %s of %s is not in the file after %d applied '
                      'steps' % (missing[0], state.parameter, state.step))


def _check_empty(message, presences):
    """ITEM-6: EMPTY says that no step was applied."""
    schedule = message.schedule
    applied = max([state.step for state in message.optimizer.states], default=0)
    if schedule.unit == checkpoint_pb2.Schedule.APPLIED:
        applied = max(applied, schedule.position)
    for item in ('optim.moments', 'optim.step'):
        if presences.of(item) == 'EMPTY' and applied:
            raise Refused('MISSING_ITEM', '%s is EMPTY after %d applied steps' % (item, applied))
