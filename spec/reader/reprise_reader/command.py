"""The command line: python3 -m reprise_reader ls|verify|tensor PATH."""

import argparse
import difflib
import os
import signal
import sys

import xxhash

from reprise_reader import reading, refusal, run_folder
from reprise_reader.refusal import Refused

_EPILOG = """\
PATH is a checkpoint (folder step-* or file manifest.ckpt) or a run folder.

exit codes:
   0  done: everything asked for was verified
   1  usage
   2  nothing of that name is there (ABSENT)
  11  the checkpoint was rejected, by every other refusal: CORRUPT, TRUNCATED, TOO_NEW, ...

examples:
  reprise_reader ls RUN                        the checkpoints of a run, newest first
  reprise_reader ls RUN/step-000000000060      what it holds, item by item
  reprise_reader verify RUN && echo good       checks every byte and every rule
  reprise_reader tensor RUN                    names of the tensors of the newest that verifies
  reprise_reader tensor RUN fc.weight          statistics and first values of one
  reprise_reader tensor RUN fc.weight:exp_avg --out moment.bin
"""


class _Parser(argparse.ArgumentParser):

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(refusal.EXIT_USAGE, '%s: %s; see --help\n' % (self.prog, message))


def _parser():
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog='reprise_reader', formatter_class=raw, epilog=_EPILOG,
                     description='Lists, verifies and looks into Reprise checkpoints. Never writes '
                     'to them and takes no lock.')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND',
                                     parser_class=_Parser)

    command = commands.add_parser(
        'ls', help='list a run folder or the items of a checkpoint', formatter_class=raw,
        description='Lists the checkpoints of a run folder (newest first; each is read and '
        'verified), or what one\ncheckpoint says of every item. Exit code 0 even when some '
        'checkpoints of the folder are damaged.')
    command.add_argument('path', metavar='PATH', help='checkpoint or run folder')
    command.set_defaults(run=_ls)

    command = commands.add_parser(
        'verify', help='check every byte and every rule', formatter_class=raw,
        description='Verifies checkpoints, and every checkpoint of the run folders, a line each. '
        'The exit code is that\nof the first refusal; 0 when all verify.')
    command.add_argument('paths', metavar='PATH', nargs='+', help='checkpoints or run folders')
    command.set_defaults(run=_verify)

    command = commands.add_parser(
        'tensor', help='list tensors, or show or extract one', formatter_class=raw,
        description='Without NAME: a line for each tensor (name, role, dtype, shape, bytes, '
        'XXH3-128 of its bytes).\nWith NAME: its statistics and first values, or its bytes into a '
        'file. Of a run folder, the newest\ncheckpoint that verifies is taken.')
    command.add_argument('path', metavar='PATH', help='checkpoint or run folder')
    command.add_argument('name', metavar='NAME', nargs='?',
                         help='of a parameter or buffer; a moment is PARAMETER:MOMENT')
    command.add_argument('--values', metavar='N', type=_count, default=10,
                         help='how many values to print, row-major; default 10, 0 none')
    command.add_argument('--out', metavar='FILE',
                         help='write the bytes there (little-endian, row-major) and nothing else; '
                         'a file that exists is not overwritten; - is standard output')
    command.set_defaults(run=_tensor)
    return parser


def _count(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError('expected a number of at least 0, found %s' % text)
    return value


def _shown(text):
    """A text of a file, fit for a terminal."""
    return ''.join(c if c.isprintable() else c.encode('unicode_escape').decode() for c in text)


def _table(rows, right=()):
    """Prints rows of texts in columns; those in `right` are set right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print('  '.join(cells).rstrip())


def _open(path):
    return run_folder.newest(path) if run_folder.is_run_folder(path) else reading.read(path)


def _ls(arguments):
    if run_folder.is_run_folder(arguments.path):
        _list_run(run_folder.survey(arguments.path))
    else:
        _list_checkpoint(reading.read(arguments.path))
    return refusal.EXIT_DONE


def _list_run(found):
    rows = [('NAME', 'STEP', 'BYTES', 'VERSION', 'ATTEMPT', 'VERIFIED')]
    for entry in found.entries:
        rows.append((
            _shown(entry.name),
            '-' if entry.step is None else str(entry.step),
            '-' if entry.bytes is None else str(entry.bytes),
            '-' if entry.version is None else '%d.%d' % entry.version,
            '-' if entry.attempt is None else str(entry.attempt),
            'yes' if entry.refused is None else 'no: %s: %s' % (
                entry.refused.refusal, _shown(entry.refused.message))))
    _table(rows, right=(1, 2, 4))
    if found.newest is not None:
        print('newest that verifies: step %d' % found.newest.step)
    elif found.stopped_by is not None:
        print('none to go on from: %s is %s' % (
            _shown(found.stopped_by.name), found.stopped_by.refused.refusal))
    else:
        print('none to go on from: no checkpoint verifies')


def _list_checkpoint(checkpoint):
    parent = 'none'
    if checkpoint.parent is not None:
        of_value = (checkpoint.major > 1 and
                    not checkpoint.message.run.parent.manifest_digest)
        parent = 'step %d, %s %s' % (checkpoint.parent[0], 'value' if of_value else 'manifest',
                                     checkpoint.parent[1].hex())
    rows = [
        ('step', str(checkpoint.step)),
        ('format', '%d.%d' % (checkpoint.major, checkpoint.minor)),
        ('bytes', str(checkpoint.bytes)),
        ('verified', 'yes'),
        ('manifest', checkpoint.manifest_digest.hex()),
        ('run', '%s, attempt %d' % (checkpoint.run_id, checkpoint.attempt)),
        ('parent', parent),
    ]
    if checkpoint.value_digest:
        rows.append(('value', checkpoint.value_digest.hex()))
    for role in ('parameter', 'buffer', 'moment', 'master', 'gradient', 'ema', 'user'):
        tensors = [t for t in _all_tensors(checkpoint) if t.role == role]
        if not tensors and role not in ('parameter', 'buffer', 'moment'):
            continue
        rows.append((role + 's', '%d tensors, %d elements, %d bytes' % (
            len(tensors), sum(t.num_elements for t in tensors),
            sum(len(t.data) for t in tensors))))
    _table(rows)
    print()
    _table([('ITEM', 'PRESENCE', 'REASON')] +
           [(r.item, r.presence, _shown(r.reason)) for r in checkpoint.inventory])


def _all_tensors(checkpoint):
    return ([t for t in checkpoint.tensors.values() if t.role != 'moment'] +
            list(checkpoint.moments.values()))


def _verify(arguments):
    code = refusal.EXIT_DONE
    for path in arguments.paths:
        try:
            if run_folder.is_run_folder(path):
                results = [(os.path.join(path, entry.name), entry.step, entry.refused)
                           for entry in run_folder.survey(path).entries]
            else:
                results = [(path, reading.verify(path).step, None)]
        except Refused as refused:
            results = [(path, None, refused)]
        for name, step, refused in results:
            if refused is None:
                print('%s: verified, step %d' % (_shown(name), step))
                continue
            print(_shown(str(refused.at(name))), file=sys.stderr)
            code = code or refused.exit_code
    return code


def _tensor(arguments):
    checkpoint = _open(arguments.path)
    if arguments.name is None:
        if arguments.out is not None:
            print('--out needs the NAME of a tensor; see --help', file=sys.stderr)
            return refusal.EXIT_USAGE
        _table([('NAME', 'ROLE', 'DTYPE', 'SHAPE', 'BYTES', 'XXH3-128')] + [
            (_shown(t.name), t.role, t.dtype, str(list(t.shape)), str(len(t.data)),
             xxhash.xxh3_128_hexdigest(t.data)) for t in _all_tensors(checkpoint)], right=(4,))
        return refusal.EXIT_DONE
    tensor = checkpoint.tensors.get(arguments.name)
    if tensor is None:
        near = difflib.get_close_matches(arguments.name, checkpoint.tensors, n=3)
        print('ABSENT: %s: no tensor is called %s%s' % (
            _shown(arguments.path), _shown(arguments.name),
            '; near it: ' + _shown(', '.join(near)) if near else
            '; `tensor PATH` lists them'), file=sys.stderr)
        return refusal.EXIT_BAD_REQUEST
    if arguments.out is not None:
        return _write(tensor, arguments.out)
    _show(tensor, arguments.values)
    return refusal.EXIT_DONE


def _write(tensor, out):
    if out == '-':
        sys.stdout.buffer.write(tensor.data)
        sys.stdout.buffer.flush()
        return refusal.EXIT_DONE
    try:
        with open(out, 'xb') as file:
            file.write(tensor.data)
    except FileExistsError:
        print('%s exists and is not overwritten: remove it or name another file' % _shown(out),
              file=sys.stderr)
        return refusal.EXIT_BAD_REQUEST
    except OSError as error:
        print('%s cannot be written: %s' % (_shown(out), error.strerror), file=sys.stderr)
        return refusal.EXIT_BAD_REQUEST
    return refusal.EXIT_DONE


def _show(tensor, count):
    statistics = tensor.statistics()
    rows = [('name', _shown(tensor.name)), ('role', tensor.role), ('dtype', tensor.dtype),
            ('shape', str(list(tensor.shape))), ('bytes', str(len(tensor.data))),
            ('XXH3-128', xxhash.xxh3_128_hexdigest(tensor.data))]
    for key in ('elements', 'zeros', 'nan', 'inf', 'min', 'max', 'mean'):
        value = statistics[key]
        rows.append((key, '-' if value is None else repr(value)))
    _table(rows)
    if count:
        values = tensor.values(0, count)
        more = tensor.num_elements - len(values)
        print('values    %s%s' % (' '.join(repr(v) for v in values),
                                  ' ... %d more' % more if more else ''))


def main(argv=None):
    """Runs a command line; returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except Refused as refused:
        print(_shown(str(refused)), file=sys.stderr)
        return refused.exit_code
    except MemoryError:
        print('IO: there is not enough memory to read the checkpoint', file=sys.stderr)
        return refusal.EXIT_CHECKPOINT_REJECTED


def run():
    """main for a process: ends quietly when the reader of a pipe goes away."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors='backslashreplace')
    # `bazel run` starts programs elsewhere; paths are the person's.
    if 'BUILD_WORKING_DIRECTORY' in os.environ:
        os.chdir(os.environ['BUILD_WORKING_DIRECTORY'])
    sys.exit(main())
