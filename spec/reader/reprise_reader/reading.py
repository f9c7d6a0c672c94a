"""Reads one checkpoint: a folder, its manifest file, or bytes in memory."""

import os
import re
import stat

from reprise_reader import envelope as envelope_module
from reprise_reader import v1, v2
from reprise_reader.refusal import Refused, from_os_error

MANIFEST = 'manifest.ckpt'
# A reader of a major has MAX_MANIFEST_BYTES and read(manifest, envelope, folder) -> Checkpoint.
MAJORS = {1: v1, 2: v2}

_START_BYTES = 512
_FOLDER_NAME = re.compile(r'step-([0-9]{12}|[1-9][0-9]{12,})'
                          r'(?:-micro-([0-9]{4}|[1-9][0-9]{4,}))?')


def read(path):
    """The verified Checkpoint of a checkpoint folder or of a manifest file.

    Raises Refused. A folder that is called step-* must be well-named and of that step (DIR-1);
    .tmp-* and .trash-* are never read (DIR-4); links and special files are refused (DIR-5).
    """
    path = os.fspath(path)
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            return _read_folder(path)
        return _read_file(path, os.path.dirname(path))
    except OSError as error:
        raise from_os_error(error, error.filename or path) from error
    except Refused as refused:
        raise refused.at(path)


def read_bytes(data):
    """The verified Checkpoint of the bytes of a manifest file."""
    return _read(lambda start, count: data[start:start + count], len(data), None)


def is_checkpoint_named(name):
    """DIR-2: such an entry of a run folder forbids a fresh start."""
    return name.startswith('step-')


def position_of_name(name):
    """(step, micro-steps after its boundary) that a folder's name says; None when malformed."""
    match = _FOLDER_NAME.fullmatch(name)
    return (int(match.group(1)), int(match.group(2) or 0)) if match else None


def verify(path):
    """Like read; of a folder of version 2 the files that only a verification reads too (FOLD-7)."""
    checkpoint = read(path)
    if checkpoint.major == 2 and os.path.isdir(path):
        try:
            v2.check_other_files(checkpoint, path)
        except Refused as refused:
            raise refused.at(path)
    return checkpoint


def step_of_name(name):
    """The step that a checkpoint folder's name says; None when it is malformed."""
    position = position_of_name(name)
    return position[0] if position else None


def _read_folder(path):
    name = os.path.basename(os.path.abspath(path))
    if name.startswith(('.tmp-', '.trash-')):
        raise Refused('NOT_A_CHECKPOINT', 'a %s that did not finish' %
                      ('save' if name.startswith('.tmp-') else 'removal'))
    position = position_of_name(name)
    if is_checkpoint_named(name) and position is None:
        raise Refused('NOT_A_CHECKPOINT', 'malformed name: expected step- and at least twelve '
                      'digits')
    file = os.path.join(path, MANIFEST)
    try:
        checkpoint = _read_file(file, path)
    except FileNotFoundError:
        raise Refused('CORRUPT', 'the folder has no %s: an incomplete copy' % MANIFEST, path=path)
    if position is not None and position != (checkpoint.step, checkpoint.micro_step):
        raise Refused('MISMATCH', 'expected a manifest of step %d by the folder\'s name, found '
                      'step %d%s' % (position[0], checkpoint.step,
                                     ' and other micro-steps' if position[0] == checkpoint.step
                                     else ''), path=file)
    return checkpoint


def _read_file(path, folder):
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = 'symbolic link' if stat.S_ISLNK(mode) else (
            'folder' if stat.S_ISDIR(mode) else 'special file')
        raise Refused('NOT_A_CHECKPOINT', 'a %s, no regular file' % kind, path=path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, 'rb') as file:
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            raise Refused('NOT_A_CHECKPOINT', 'no regular file', path=path)

        def get(start, count):
            file.seek(start)
            return file.read(count)

        try:
            return _read(get, opened.st_size, folder)
        except Refused as refused:
            raise refused.at(path)


def _read(get, size, folder):
    start = get(0, _START_BYTES)
    envelope = envelope_module.parse(start, size, sorted(MAJORS))
    major = MAJORS[envelope.major]
    envelope_module.check_length(envelope, major.MAX_MANIFEST_BYTES, size)
    manifest = get(envelope_module.SIZE, envelope.manifest_length)
    if len(manifest) != envelope.manifest_length:
        raise Refused('TRUNCATED', 'the file became shorter while it was read: expected %d bytes, '
                      'found %d' % (size, envelope_module.SIZE + len(manifest)))
    envelope_module.check_digest(envelope, manifest)
    return major.read(manifest, envelope, folder)
