"""Runs the field trials and prints one row a trial for the table in conformance/log_adapter/GUIDE.md.

Called by run.sh, which prepares what the trials need.
"""

import argparse
import os
import subprocess
import sys

import make_text_data

HERE = os.path.dirname(os.path.abspath(__file__))
# Text that every Debian has.
TEXT = '/usr/share/common-licenses/GPL-3'
CAMPAIGN, ADAPTER, VERIFY = ('bazel-bin/conformance/runner/campaign',
                             'bazel-bin/conformance/log_adapter/log_adapter',
                             'bazel-bin/conformance/conformance')


class Trial:

    def __init__(self, name, adapter, settings, working_folder=None):
        self.name, self.adapter = name, adapter
        self.settings, self.working_folder = settings, working_folder


def trials(options):
    data = os.path.join(options.out, 'nanogpt-data')
    return [
        Trial('nanogpt', 'nanogpt.adapter', {'data': data}, options.nanogpt),
        Trial('nanogpt-no-dropout', 'nanogpt.adapter', {'data': data, 'dropout': '0.0'},
              options.nanogpt),
        Trial('huggingface', 'huggingface.adapter', {'text': TEXT}),
        Trial('huggingface-accumulation', 'huggingface.adapter', {'text': TEXT, 'accumulation': '3'}),
        Trial('plain-pytorch', 'plain_pytorch.adapter', {}),
        Trial('plain-pytorch-complete', 'plain_pytorch.adapter', {'complete': '1'}),
    ]


def run(trial, options):
    out = os.path.join(options.out, trial.name)
    settings = dict(trial.settings, python=sys.executable)
    command = [
        CAMPAIGN, '--out=' + out, '--kills=%d' % options.kills, '--steps=60', '--save_every=10',
        '--set=' + ','.join('%s=%s' % pair for pair in settings.items()),
        '--pass_env=OMP_NUM_THREADS=1,PYTHONPATH=%s,HF_HUB_OFFLINE=1' % options.packages,
        '--testee=%s --adapter=%s' % (os.path.abspath(ADAPTER), os.path.join(HERE, trial.adapter))]
    if trial.working_folder:
        command.append('--working_folder=' + trial.working_folder)
    with open(out + '.log', 'w', encoding='utf-8') as log:
        subprocess.run(command, stdout=log, stderr=log, check=False)
        judged = subprocess.run([VERIFY, 'verify', out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                encoding='utf-8', check=False)
        log.write(judged.stdout)
    print('== %s\n%s' % (trial.name, judged.stdout), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--out', default='field-trials', help='folder for the records')
    parser.add_argument('--packages', required=True, help='folder with transformers and accelerate')
    parser.add_argument('--nanogpt', required=True, help='folder with its train.py')
    parser.add_argument('--kills', type=int, default=6)
    parser.add_argument('trials', nargs='*', help='names; none: all of them')
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    data = os.path.join(options.out, 'nanogpt-data')
    os.makedirs(data, exist_ok=True)
    make_text_data.write(TEXT, data)
    known = {trial.name: trial for trial in trials(options)}
    for name in options.trials or known:
        if name not in known:
            sys.exit('there is no trial %s; there are: %s' % (name, ', '.join(known)))
        run(known[name], options)


if __name__ == '__main__':
    main()
