"""Makes the released corpus: bazel run //trainer/corpus:generate

For every entry that is not there yet: trains, picks the checkpoint that the
entry is about, continues it with each number of threads and capability, and
writes checkpoint and records below spec/vectors/released/vN, then the index.
A file that is there is never written to. With --check DIR it writes everything
below DIR instead, to look at.
"""

import argparse
import hashlib
import os
import shutil
import sys
import tempfile

import continuation as c

VERSION = 2  # format major, and folder
RELEASED = 'spec/vectors/released'
INDEX = 'SHA256SUMS'
END = 60
EPOCH = 12  # steps: 200 samples in batches of 16, the rest dropped

COMMON = [
    '--threads=1', '--seed=11', '--steps=%d' % END, '--save_every=1', '--keep=1000',
    '--set=model.kind=mlp', '--set=model.hidden=16', '--set=model.dropout=0.25',
    '--set=data.name=synthetic', '--set=data.synthetic_size=8', '--set=data.train_limit=200',
    '--set=data.test_limit=40', '--set=data.batch_size=16', '--set=schedule.warmup=6',
    '--set=schedule.horizon=50', '--set=run.eval_every=20', '--set=precision.growth_interval=4',
    '--set=optimizer.weight_decay=0.05',
]
ADAMW = ['--set=optimizer.kind=adamw', '--set=optimizer.lr=0.01']
ADAM = ['--set=optimizer.kind=adam', '--set=optimizer.lr=0.01']
SGD = ['--set=optimizer.kind=sgd', '--set=optimizer.lr=0.1', '--set=optimizer.momentum=0.9']


def at(step):
    return lambda rows: step


def after_overflow(rows):
    """The first step, inside a later epoch, that was skipped after applied ones."""
    for row in rows:
        step = int(row['step'])
        if step > EPOCH and step % EPOCH and row['skipped'] == '1':
            return step
    raise RuntimeError('no step was skipped')


def before_applied(rows):
    if any(row['skipped'] == '0' for row in rows[:5]):
        raise RuntimeError('a step was applied too early')
    return 5


def inside(step, micro):
    """The name of the checkpoint inside a step."""
    return lambda rows: 'step-%012d-micro-%04d' % (step, micro)


EMA = ['--set=ema.decay=0.9', '--set=best.metric=ema/loss', '--set=best.patience=50',
       '--set=run.eval_every=5']
TEXT = ['--set=model.kind=gpt', '--set=model.hidden=8', '--set=model.layers=1',
        '--set=model.heads=2', '--set=data.name=text', '--set=data.sequence_length=16',
        '--set=data.augment=false', '--set=data.tail=span']
# Small enough for a file: 8 hidden units behind two convolutions.
CONVNET = ['--set=model.kind=convnet', '--set=model.hidden=8', '--set=optimizer.lr=0.02']
# One channel in the first stage, eight in the last: 62 parameters and 60 buffers in 58 kB.
# Images large enough that batch norm has more than a batch of values to average in the last stage,
# and a low rate: else one channel's rounding is what the losses tell of.
RESNET = ['--set=model.kind=resnet18', '--set=model.width=1', '--set=optimizer.lr=0.0002',
          '--set=data.synthetic_size=64']
NESTEROV = ['--set=optimizer.nesterov=true']

# name, flags, which step. Version 1 is complete; these are version 2's.
ENTRIES = [
    ('adamw-fp16-averaged',
     ADAMW + EMA + ['--precision=fp16', '--set=precision.init_scale=65536'], after_overflow),
    ('adamw-fp16-nothing-applied',
     ADAMW + EMA + ['--precision=fp16', '--set=precision.init_scale=1073741824'],
     before_applied),
    ('sgd-fp16-inside-a-step',
     SGD + ['--precision=fp16', '--set=precision.init_scale=16384',
            '--set=accumulation.steps=3', '--set=save.at_micro=2'], inside(EPOCH + 5, 2)),
    ('sgd-fp32-plateau',
     SGD + ['--precision=fp32', '--set=schedule.form=plateau-v1', '--set=schedule.patience=0',
            '--set=run.eval_every=3', '--set=optimizer.clip_norm=0',
            '--set=optimizer.clip_value=0.05', '--set=data.tail=partial'], at(EPOCH + 6)),
    ('adam-bf16-masters',
     ADAM + ['--precision=bf16', '--set=model.dtype=bf16', '--set=model.frozen=^fc2'],
     at(2 * EPOCH)),
    ('adamw-fp32-text', ADAMW + TEXT + ['--precision=fp32', '--set=schedule.form=one-cycle-v1'],
     at(EPOCH + 3)),
    ('adamw-fp32-from-v1', ['--set=optimizer.lr=0.008'], at(30)),
    ('sgd-fp32-convnet-behind',
     SGD + CONVNET + ['--precision=fp32', '--set=save.background=true'], at(EPOCH + 7)),
    ('sgd-bf16-convnet-nesterov', SGD + CONVNET + NESTEROV + ['--precision=bf16'],
     at(EPOCH + 4)),
    ('sgd-fp16-convnet',
     SGD + CONVNET + ['--precision=fp16', '--set=precision.init_scale=65536'],
     at(2 * EPOCH + 1)),
    ('adam-bf16-text-plateau',
     ADAM + TEXT + ['--precision=bf16', '--set=model.dtype=bf16', '--set=schedule.form=plateau-v1',
                    '--set=schedule.patience=0', '--set=run.eval_every=3'], at(EPOCH + 6)),
    ('adamw-fp16-text-masters',
     ADAMW + TEXT + ['--precision=fp16', '--set=model.dtype=fp16',
                     '--set=precision.init_scale=65536', '--set=accumulation.steps=2',
                     '--set=save.at_micro=1'], inside(EPOCH + 3, 1)),
    ('sgd-fp32-resnet', SGD + RESNET + ['--precision=fp32'], at(EPOCH + 8)),
    ('sgd-bf16-resnet-masters',
     SGD + RESNET + NESTEROV + ['--precision=bf16', '--set=model.dtype=bf16',
                                '--set=optimizer.lr=0.00002'], at(EPOCH + 3)),
    ('sgd-fp16-resnet',
     SGD + RESNET + ['--precision=fp16', '--set=precision.init_scale=65536'],
     at(2 * EPOCH + 2)),
]


def train(name, flags, run_dir):
    if name.endswith('-from-v1'):
        # Gone on from a checkpoint of version 1, with another learning rate.
        source = os.path.join(RELEASED, 'v1', 'adamw-fp32-epoch-boundary')
        checkpoint = c.checkpoints(source)[0]
        c.copy_checkpoint(os.path.join(source, checkpoint), os.path.join(run_dir, checkpoint))
        c.run_trainer(run_dir, flags, 'default')
    else:
        c.run_trainer(run_dir, COMMON + flags, 'default')


def variants():
    for capability in c.CAPABILITIES:
        for threads in c.THREADS:
            yield capability, threads


def make_entry(name, flags, choose, folder, work):
    run_dir = os.path.join(work, name)
    train(name, flags, run_dir)
    step = choose(c.read_steps(run_dir))
    if not isinstance(step, str):
        step = 'step-%012d' % step
    checkpoint = os.path.join(run_dir, step)
    major = c.describe(checkpoint)['format.major']
    if major != str(VERSION):
        raise RuntimeError('the trainer writes major %s: the corpus of major %d is complete' %
                           (major, VERSION))
    records = {}
    for capability, threads in variants():
        record, _ = c.continue_from(checkpoint, os.path.join(
            work, '%s-%s-%d' % (name, capability, threads)), threads, capability)
        records[capability, threads] = record
    # Where a step would overflow on one kernel and not on another, nobody else
    # could compare: such a window is no entry. More kernels than are recorded.
    first = records['default', 1]
    others = list(records.values())
    for number, (threads, capability, extra) in enumerate([
            (3, 'default', {}), (4, 'avx2', {}), (1, 'avx2', {'ONEDNN_MAX_CPU_ISA': 'AVX2'}),
            (1, 'default', {'ONEDNN_MAX_CPU_ISA': 'SSE41', 'MKL_CBWR': 'COMPATIBLE'})]):
        others.append(c.continue_from(checkpoint, os.path.join(work, '%s-%d' % (name, number)),
                                      threads, capability, extra)[0])
    for other in others:
        if c.differences(first, other, tolerance=1.0):
            raise RuntimeError('%s: kernels disagree about more than rounding: %s' %
                               (name, c.differences(first, other, tolerance=1.0)))
    print('%s: %s, %d skipped after it, largest loss difference between kernels %.2g, '
          '%d different probes' %
          (name, step, sum(row['skipped'] == '1' for row in first.rows),
           max(c.largest_loss_difference(first, other) for other in others),
           len({other.kernel_probe for other in others})))

    c.copy_checkpoint(checkpoint, os.path.join(folder, name, os.path.basename(checkpoint)))
    for (capability, threads), record in records.items():
        path = os.path.join(folder, name, '%s-threads-%d%s' % (capability, threads,
                                                               c.RECORD_SUFFIX))
        with open(path, 'x', encoding='ascii') as file:
            print('# The %d steps after %s of %s. Released: never edited.' %
                  (c.STEPS, step, name), file=file)
            for line in record.lines():
                print(line, file=file)


def files_below(folder):
    for path, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(path, name), folder)


def write_index(folder):
    """Adds the new files to the index; what it says of others stays as it is."""
    index = os.path.join(folder, INDEX)
    known = {}
    if os.path.exists(index):
        with open(index, encoding='ascii') as file:
            known = {line.split()[1]: line.split()[0] for line in file}
    for name in files_below(folder):
        if name != INDEX and name not in known:
            with open(os.path.join(folder, name), 'rb') as file:
                known[name] = hashlib.sha256(file.read()).hexdigest()
    with open(index, 'w', encoding='ascii') as file:
        for name in sorted(known):
            print('%s  %s' % (known[name], name), file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', metavar='DIR', help='write there, not into the tree')
    check = parser.parse_args().check
    folder = check or os.path.join(os.environ['BUILD_WORKSPACE_DIRECTORY'],
                                   'spec/vectors/released/v%d' % VERSION)
    for capability in c.CAPABILITIES:
        reason = c.missing_instructions(capability)
        if reason:
            sys.exit('generate: capability %s: %s' % (capability, reason))
    with tempfile.TemporaryDirectory() as work:
        for name, flags, choose in ENTRIES:
            if os.path.exists(os.path.join(folder, name)):
                print('%s: released already, left alone' % name)
                continue
            make_entry(name, flags, choose, folder, work)
    write_index(folder)


if __name__ == '__main__':
    main()
