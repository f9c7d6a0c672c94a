"""Continues a released checkpoint with the real trainer and compares what it does.

The working folder is the root of the runfiles. A record (RECORD_SUFFIX) holds
the first STEPS steps after a checkpoint, as one trainer did them:

    threads 1
    cpu_capability DEFAULT
    kernel_probe 9d838269b8b549cf9d838269b8b549cf
    columns step epoch batch samples ids loss lr scale skipped applied grad_norm
    18 1 5 288 9d838269b8b549cf 4011a2b8 3f5b4e81b4e81b4e,3f5b4e81b4e81b4e 47800000 ...

Numbers are decimal, floats the hexadecimal digits of their bits, lists joined by
commas, "-" where the step has no such value. Lines that begin with # are comments.
"""

import json
import os
import shutil
import struct
import subprocess

TRAINER = 'trainer/trainer'
DESCRIBE = 'trainer/corpus/describe_checkpoint'

STEPS = 20
THREADS = [1, 2]
CAPABILITIES = ['default', 'avx2']
RECORD_SUFFIX = '.record.txt'
COLUMNS = ['step', 'epoch', 'batch', 'samples', 'ids', 'loss', 'lr', 'scale', 'skipped', 'applied',
           'grad_norm']
# The same on every machine: nothing that a kernel computes, or only what the
# entries were chosen to have far from any rounding.
EXACT = [c for c in COLUMNS if c not in ('loss', 'grad_norm')]
# Largest difference of the loss, relative to the record's, that other kernels
# may make within STEPS steps. Among eight kinds of kernels on one processor
# (both capabilities, one to four threads, narrower instruction sets of the
# matrix libraries) the largest seen was 3e-7 in fp32, 2e-7 in bf16 and 3e-5 in
# fp16; other processors sum half-precision products in ways not seen there.
LOSS_TOLERANCE = {'fp32': 1e-5, 'bf16': 2e-3, 'fp16': 2e-3}
# Twenty convolutions in a row in bf16, a channel or few wide, and batch norm
# after each that blows rounding up: 1.7e-3 was seen.
LOSS_TOLERANCE_OF_ENTRY = {'v2/sgd-bf16-resnet-masters': 1e-2}


def loss_tolerance(entry, precision):
    return LOSS_TOLERANCE_OF_ENTRY.get(entry, LOSS_TOLERANCE[precision])


def process_environment(capability):
    """Nothing of the caller's: a GPU is not seen, threads do not spin."""
    return {
        'PATH': '/usr/bin:/bin',
        'HOME': os.environ.get('TEST_TMPDIR', '/tmp'),
        'OMP_WAIT_POLICY': 'passive',
        'CUDA_VISIBLE_DEVICES': '',
        'ATEN_CPU_CAPABILITY': capability,
    }


def missing_instructions(capability):
    """Why this CPU cannot run the capability; None when it can."""
    needed = {'default': set(), 'avx2': {'avx2', 'fma'}}[capability]
    with open('/proc/cpuinfo', encoding='utf-8') as info:
        for line in info:
            if line.startswith('flags'):
                lacks = needed - set(line.split(':')[1].split())
                return 'this CPU lacks ' + ' and '.join(sorted(lacks)) if lacks else None
    return 'what this CPU can do is not known'


def run_trainer(run_dir, flags, capability, extra_environment=None):
    environment = process_environment(capability)
    environment.update(extra_environment or {})
    result = subprocess.run([TRAINER, '--run_dir=' + run_dir] + flags, env=environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, encoding='utf-8', check=False)
    if result.returncode != 0:
        raise RuntimeError('the trainer ended with exit code %d:\n%s' %
                           (result.returncode, result.stdout))
    return result.stdout


def describe(checkpoint):
    """What a checkpoint folder says of itself, by key (describe_checkpoint.cc)."""
    lines = subprocess.run([DESCRIBE, checkpoint], stdout=subprocess.PIPE, encoding='utf-8',
                           check=True).stdout.splitlines()
    return dict(line.split('\t', 1) for line in lines)


def checkpoints(folder):
    """Names of the checkpoints in a folder, by step."""
    return sorted(name for name in os.listdir(folder) if name.startswith('step-'))


def text(value):
    if value is None:
        return '-'
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return ','.join(text(v) for v in value)
    if isinstance(value, dict):
        return value['bits']
    return str(value)


def read_steps(run_dir):
    """The rows of a run's step records, in order."""
    rows = []
    with open(os.path.join(run_dir, 'metrics.jsonl'), encoding='utf-8') as file:
        for line in file:
            event = json.loads(line)
            if event['type'] == 'step':
                rows.append({c: text(event.get(c)) for c in COLUMNS})
    return rows


class Record:
    """What a trainer did in the steps after a checkpoint."""

    def __init__(self, threads, cpu_capability, kernel_probe, rows):
        self.threads = threads
        self.cpu_capability = cpu_capability
        self.kernel_probe = kernel_probe
        self.rows = rows

    def lines(self):
        yield 'threads %d' % self.threads
        yield 'cpu_capability ' + self.cpu_capability
        yield 'kernel_probe ' + self.kernel_probe
        yield 'columns ' + ' '.join(COLUMNS)
        for row in self.rows:
            yield ' '.join(row[c] for c in COLUMNS)

    @staticmethod
    def read(path):
        with open(path, encoding='ascii') as file:
            lines = [line.split() for line in file if not line.startswith('#')]
        head = {line[0]: line[1:] for line in lines[:4]}
        columns = head['columns']
        rows = [dict(zip(columns, line)) for line in lines[4:]]
        return Record(int(head['threads'][0]), head['cpu_capability'][0],
                      head['kernel_probe'][0], rows)


def copy_checkpoint(source, target):
    """Copies a checkpoint folder, links followed and files made writable."""
    shutil.copytree(source, target)
    for name in os.listdir(target):
        os.chmod(os.path.join(target, name), 0o644)


def continue_from(checkpoint, run_dir, threads, capability, extra_environment=None):
    """Continues a copy of a checkpoint folder in the new folder run_dir.

    Returns the record of its first STEPS steps, and the folder of the checkpoint
    that the run ends with.
    """
    os.makedirs(run_dir)
    copy_checkpoint(checkpoint, os.path.join(run_dir, os.path.basename(checkpoint)))
    run_trainer(run_dir, ['--threads=%d' % threads, '--save_every=1000000'], capability,
                extra_environment)
    end = os.path.join(run_dir, checkpoints(run_dir)[-1])
    facts = describe(end)
    rows = read_steps(run_dir)[:STEPS]
    return Record(int(facts['environment.threads']), facts['environment.cpu_capability'],
                  facts['environment.kernel_probe'], rows), end


def real(digits):
    return struct.unpack('>f', bytes.fromhex(digits))[0]


def differences(expected, found, tolerance=None):
    """What `found` did otherwise, a text each; none: the same.

    Without a tolerance every column counts to the last bit; with one, those of
    EXACT do, and the loss within tolerance relative to the expected one.
    """
    texts = []
    if len(expected.rows) != len(found.rows):
        texts.append('expected %d steps, found %d' % (len(expected.rows), len(found.rows)))
    for a, b in zip(expected.rows, found.rows):
        for column in COLUMNS if tolerance is None else EXACT:
            if a[column] != b[column]:
                texts.append('step %s, %s: expected %s, found %s' %
                             (a['step'], column, a[column], b[column]))
        if tolerance is None:
            continue
        if not abs(real(a['loss']) - real(b['loss'])) <= tolerance * abs(real(a['loss'])):
            texts.append('step %s, loss: expected %g within %g of itself, found %g' %
                         (a['step'], real(a['loss']), tolerance, real(b['loss'])))
    return texts


def largest_loss_difference(a, b):
    return max(abs(real(x['loss']) - real(y['loss'])) / abs(real(x['loss']))
               for x, y in zip(a.rows, b.rows))
