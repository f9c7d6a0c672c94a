#!/bin/bash
# Trials of other people's trainers, unmodified, by the log adapter:
#   tools/field/run.sh [--out=FOLDER] [TRIAL ...]
# Makes (once) Python environments in the user's cache folder (torch, 5 GB;
# transformers and accelerate from PyPI) and fetches nanoGPT from GitHub, then
# runs field.py, which says what the trials are. Takes half an hour or more.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cache="${XDG_CACHE_HOME:-${HOME}/.cache}/reprise"
environment="${cache}/python-torch-2.11.0"
packages="${cache}/field-packages"
nanogpt="${REPRISE_NANOGPT:-${cache}/field/nanoGPT}"
if ! "${environment}/bin/python" -c 'import torch, numpy' 2> /dev/null; then
  echo "field: making ${environment} (torch 2.11.0, about 5 GB)" >&2
  python3 -m venv "${environment}"
  "${environment}/bin/pip" install --quiet torch==2.11.0 numpy safetensors
fi
if ! PYTHONPATH="${packages}" "${environment}/bin/python" -c 'import transformers, accelerate' 2> /dev/null; then
  echo "field: installing transformers and accelerate into ${packages}" >&2
  # Without torch among the dependencies: the one above is used.
  "${environment}/bin/pip" install --quiet --no-deps --target "${packages}" transformers accelerate
  "${environment}/bin/pip" install --quiet --target "${packages}" huggingface_hub tokenizers safetensors regex \
    pyyaml packaging tqdm requests filelock psutil
fi
if [[ ! -e "${nanogpt}/train.py" ]]; then
  echo "field: fetching nanoGPT into ${nanogpt}" >&2
  git clone --quiet https://github.com/karpathy/nanoGPT "${nanogpt}"
fi
cd "${root}"
./tools/bazel build //conformance/runner:campaign //conformance/log_adapter //conformance
exec "${environment}/bin/python" tools/field/field.py --packages="${packages}" --nanogpt="${nanogpt}" "$@"
