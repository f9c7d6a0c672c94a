"""Packs the reader into one executable file that needs only Python and two Debian packages.

    pack.py OUTPUT FILE...    a FILE lies in the archive by its path from reprise_reader/ on

Equal inputs give equal bytes.
"""

import os
import sys
import zipfile

_MAIN = b'''import sys
try:
    from reprise_reader.command import run
except ImportError as error:
    sys.stderr.write('%s\\n' % error)
    sys.exit(10)  # unsupported, SPEC.md EXIT-1
run()
'''
_WHEN = (1980, 1, 1, 0, 0, 0)


def main(output, files):
    contents = {'__main__.py': _MAIN}
    for path in files:
        name = path[path.index('reprise_reader/'):]
        with open(path, 'rb') as file:
            contents[name] = file.read()
    with open(output, 'wb') as file:
        file.write(b'#!/usr/bin/python3\n')
        with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(contents):
                info = zipfile.ZipInfo(name, _WHEN)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, contents[name])
    os.chmod(output, 0o755)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
