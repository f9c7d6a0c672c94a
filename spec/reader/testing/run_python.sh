#!/bin/bash
# Runs a Python test with Debian's interpreter, which has the Debian packages that the reader needs;
# another python3 in PATH may not. usage: run_python.sh TEST.py
set -eu
export PYTHONPATH="spec/reader:spec/reader/testing" PYTHONDONTWRITEBYTECODE=1
# -P: not the folder of the test, which is the source tree, where nothing is generated.
exec /usr/bin/python3 -P "$@"
