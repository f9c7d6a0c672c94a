"""Makes the released corpus: bazel run //trainer/corpus:generate

For every entry that is not there yet: trains, picks the checkpoint that the
entry is about, continues it with each number of threads and capability, and
writes checkpoint and records below spec/vectors/released/v1, then the index.
A file that is there is never written to. With --check DIR it writes everything
below DIR instead, to look at.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

import continuation as c

DISAGREE = 'trainer/corpus/disagreeing_steps'
VERSION = 1  # format major, and folder
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


# name, flags, which step
ENTRIES = [
    ('adamw-fp16-mid-epoch', ADAMW + ['--precision=fp16', '--set=precision.init_scale=65536'],
     at(EPOCH + 7)),
    ('adamw-fp16-after-overflow', ADAMW + ['--precision=fp16', '--set=precision.init_scale=65536'],
     after_overflow),
    ('adamw-fp16-nothing-applied',
     ADAMW + ['--precision=fp16', '--set=precision.init_scale=1073741824'], before_applied),
    ('adamw-fp32-epoch-boundary', ADAMW + ['--precision=fp32'], at(2 * EPOCH)),
    ('adamw-bf16-mid-epoch', ADAMW + ['--precision=bf16'], at(EPOCH + 5)),
    ('sgd-fp32-mid-epoch', SGD + ['--precision=fp32', '--set=optimizer.nesterov=true'],
     at(2 * EPOCH + 7)),
    ('sgd-fp16-epoch-boundary', SGD + ['--precision=fp16', '--set=precision.init_scale=16384'],
     at(3 * EPOCH)),
    ('sgd-bf16-mid-epoch', SGD + ['--precision=bf16', '--set=precision.scaler=true'],
     at(3 * EPOCH + 4)),
    ('sgd-fp32-without-momentum', SGD[:2] + ['--precision=fp32', '--set=optimizer.momentum=0'],
     at(EPOCH + 2)),
    ('adam-fp32-resumed', ADAM + ['--precision=fp32', '--set=data.augment=false'], at(EPOCH + 9)),
]
REFUSED = ('refused-optimizer-steps-disagree', 'adamw-fp32-epoch-boundary')


def train(name, flags, run_dir):
    if name.endswith('-resumed'):
        # Stopped at step 10 and resumed with another learning rate: the file has a
        # parent, attempt 2 and a changed field.
        c.run_trainer(run_dir, COMMON + flags, 'default')
        for checkpoint in c.checkpoints(run_dir)[10:]:
            shutil.rmtree(os.path.join(run_dir, checkpoint))
        c.run_trainer(run_dir, ['--set=optimizer.lr=0.008'], 'default')
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
    checkpoint = os.path.join(run_dir, 'step-%012d' % step)
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
    print('%s: step %d, %d skipped after it, largest loss difference between kernels %.2g, '
          '%d different probes' %
          (name, step, sum(row['skipped'] == '1' for row in first.rows),
           max(c.largest_loss_difference(first, other) for other in others),
           len({other.kernel_probe for other in others})))

    shutil.copytree(checkpoint, os.path.join(folder, name, os.path.basename(checkpoint)))
    for (capability, threads), record in records.items():
        path = os.path.join(folder, name, '%s-threads-%d%s' % (capability, threads,
                                                               c.RECORD_SUFFIX))
        with open(path, 'x', encoding='ascii') as file:
            print('# The %d steps after step %d of %s. Released: never edited.' %
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
        name, source = REFUSED
        if not os.path.exists(os.path.join(folder, name)):
            checkpoint = c.checkpoints(os.path.join(folder, source))[0]
            target = os.path.join(folder, name, checkpoint)
            shutil.copytree(os.path.join(folder, source, checkpoint), target)
            subprocess.run([DISAGREE, target], check=True)
    write_index(folder)


if __name__ == '__main__':
    main()
