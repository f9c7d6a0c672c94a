"""Checks a folder of released files against its index (lines of sha256sum)."""

import hashlib
import os

INDEX = 'SHA256SUMS'
MAX_CHECKPOINT_BYTES = 64 << 10
MAX_TOTAL_BYTES = 1 << 20

_ADVICE = ('released files are never changed, moved or removed: restore it (git checkout); what '
           'must be otherwise is a new file beside it')


def sha256(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def problems(folder):
    """What is wrong, a text each, naming the file and what to do."""
    with open(os.path.join(folder, INDEX), encoding='ascii') as file:
        lines = [line.rstrip('\n').split('  ', 1) for line in file]
    listed = {name: digest for digest, name in lines}
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            found[os.path.relpath(full, folder)] = full
    found.pop(INDEX, None)

    texts = []
    if len(listed) != len(lines):
        texts.append('%s: a file is listed twice' % INDEX)
    for name in sorted(listed):
        if name not in found:
            texts.append('%s: expected by %s, not there; %s' % (name, INDEX, _ADVICE))
        elif sha256(found[name]) != listed[name]:
            texts.append('%s: expected SHA-256 %s, found %s; %s' %
                         (name, listed[name], sha256(found[name]), _ADVICE))
    for name in sorted(set(found) - set(listed)):
        texts.append('%s: not in %s; new entries come from bazel run //trainer/corpus:generate' %
                     (name, INDEX))
    total = 0
    for name, path in sorted(found.items()):
        size = os.path.getsize(path)
        total += size
        if size > MAX_CHECKPOINT_BYTES:
            texts.append('%s: expected at most %d bytes, found %d' %
                         (name, MAX_CHECKPOINT_BYTES, size))
    if total > MAX_TOTAL_BYTES:
        texts.append('expected at most %d bytes together, found %d' % (MAX_TOTAL_BYTES, total))
    return texts
