#!/bin/bash
# Makes (once) a Python environment with the torch wheel that LibTorch comes
# from, in the user's cache folder (about 5 GB), and writes fixtures:
#   tools/parity/run.sh                    of the trainer's arithmetic (fixtures.py)
#   tools/parity/run.sh interop [ARGS]     of torch.save and safetensors (interop.py)
#   tools/parity/run.sh continuations      of runs that the trainer goes on with (continuations.py);
#                                          "check CKPT" after it proves import and export with them
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
environment="${XDG_CACHE_HOME:-${HOME}/.cache}/reprise/python-torch-2.11.0"
if ! "${environment}/bin/python" -c 'import torch, safetensors' 2> /dev/null; then
  echo "parity: making ${environment} (torch 2.11.0, about 5 GB)" >&2
  python3 -m venv "${environment}"
  "${environment}/bin/pip" install --quiet torch==2.11.0 numpy safetensors
fi
script=fixtures.py
case "${1:-}" in
  interop | continuations)
    script="$1.py"
    shift
    ;;
esac
exec "${environment}/bin/python" "${root}/tools/parity/${script}" "$@"
