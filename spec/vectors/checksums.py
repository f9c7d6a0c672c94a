"""Keeps the index of the test vectors: SHA256SUMS, one line a file as sha256sum writes it.

    bazel run //spec/vectors:checksums        # writes it again, after vectors were added

Vectors that were released are not changed: look at the difference, which only adds lines.
"""

import hashlib
import os
import sys

INDEX = 'SHA256SUMS'
# Folders of vectors that generators write; the released corpus has an index of its own.
FOLDERS = ('v1', 'v2', 'migration', 'algorithms')
# Of vectors, which people read in a review: not Bazel's and not Python's files.
OTHERS = ('BUILD', '.py', '.pyc')
MAX_TOTAL_BYTES = 3 << 20
MIN_VECTORS = 150


def sums(root):
    """{relative path: SHA-256} of every file of the folders."""
    found = {}
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if not name.endswith(OTHERS) and not name.startswith('.'):
                    full = os.path.join(path, name)
                    with open(full, 'rb') as file:
                        digest = hashlib.sha256(file.read()).hexdigest()
                    found[os.path.relpath(full, root)] = digest
    return found


def text_of(found):
    return ''.join('%s  %s\n' % (found[name], name) for name in sorted(found))


def problems(root):
    """What is wrong, a text each."""
    with open(os.path.join(root, INDEX), encoding='utf-8') as file:
        lines = [line.rstrip('\n').split('  ', 1) for line in file]
    listed = {name: digest for digest, name in lines}
    found = sums(root)
    texts = ['%s is listed twice' % name for name in listed
             if sum(1 for _, other in lines if other == name) > 1]
    texts += ['%s is listed and not there' % name for name in sorted(set(listed) - set(found))]
    texts += ['%s is not listed' % name for name in sorted(set(found) - set(listed))]
    texts += ['%s was changed' % name for name in sorted(set(found) & set(listed))
              if found[name] != listed[name]]
    return texts


if __name__ == '__main__':
    ROOT = os.path.join(os.environ.get('BUILD_WORKSPACE_DIRECTORY', '.'), 'spec/vectors')
    with open(os.path.join(ROOT, INDEX), 'w', encoding='utf-8') as index:
        index.write(text_of(sums(ROOT)))
    print('wrote %s of %d files' % (INDEX, len(sums(ROOT))))
    sys.exit(0)
