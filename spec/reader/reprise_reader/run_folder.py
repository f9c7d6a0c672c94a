"""A run folder (SPEC.md, section 7): its checkpoints, and the one to go on from.

    found = run_folder.survey('RUN')
    for entry in found.entries:     # newest first
        print(entry.name, entry.refused or 'verified')
    if found.newest is not None:    # a Checkpoint; NEWEST-1
        print(found.newest.step)

Only reads, and takes no lock: what another process adds or removes meanwhile may be missed.
"""

import collections
import os

from reprise_reader import reading
from reprise_reader.refusal import Refused, from_os_error

# name: of the folder. step: by the name, None when malformed. bytes: of the manifest file, None when
# there is none. version: (major, minor), attempt: None unless verified. refused: None or why.
Entry = collections.namedtuple('Entry', 'name step bytes version attempt refused')

# newest: the Checkpoint to go on from, or None. stopped_by: the Entry that forbids to look further
# (NEWEST-2), or None.
Survey = collections.namedtuple('Survey', 'entries newest stopped_by')

_STOPS = ('TOO_NEW', 'UNKNOWN_FEATURE', 'IO')


def is_run_folder(path):
    """Whether `path` is to be looked at as a run folder, not as a checkpoint."""
    if not os.path.isdir(path):
        return False
    name = os.path.basename(os.path.abspath(path))
    return not (reading.is_checkpoint_named(name) or name.startswith(('.tmp-', '.trash-')) or
                os.path.lexists(os.path.join(path, reading.MANIFEST)))


def survey(path):
    """Verifies every checkpoint-named entry. Raises Refused: ABSENT when there is none, IO."""
    try:
        names = [name for name in os.listdir(path) if reading.is_checkpoint_named(name)]
    except OSError as error:
        raise from_os_error(error, path) from error
    if not names:
        raise Refused('ABSENT', 'no checkpoint is there: nothing is called step-*', path=path)
    # Highest step first, malformed names last.
    positions = {name: reading.position_of_name(name) for name in names}
    names.sort(key=lambda name: (positions[name] is None,
                                 tuple(-n for n in positions[name] or ()), name))
    entries = []
    newest = stopped_by = None
    for name in names:
        checkpoint, entry = _look(path, name)
        entries.append(entry)
        if newest is None and stopped_by is None:
            if checkpoint is not None:
                newest = checkpoint
            elif entry.refused.refusal in _STOPS:
                stopped_by = entry
    return Survey(entries, newest, stopped_by)


def newest(path):
    """The Checkpoint to go on from. Raises Refused: why there is none (NEWEST-2, NEWEST-3)."""
    found = survey(path)
    if found.newest is not None:
        return found.newest
    raise (found.stopped_by or found.entries[0]).refused


def _look(run, name):
    path = os.path.join(run, name)
    step = reading.step_of_name(name)
    size = None
    try:
        size = os.lstat(os.path.join(path, reading.MANIFEST)).st_size
    except OSError:
        pass  # reading says what is wrong
    try:
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            raise Refused('NOT_A_CHECKPOINT', 'no folder', path=path)
        checkpoint = reading.read(path)
    except Refused as refused:
        return None, Entry(name, step, size, None, None, refused)
    return checkpoint, Entry(name, step, checkpoint.bytes, (checkpoint.major, checkpoint.minor),
                             checkpoint.attempt, None)
