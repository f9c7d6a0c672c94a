#!/bin/bash
# absence_test.sh FOUND SEEN TARGET: fails when FOUND lists a label, or when SEEN
# does not list TARGET (then the query looked at something else).
set -euo pipefail
found="$1"
seen="$2"
target="$3"

if [[ "${target}" == //* && "${target}" != *:* ]]; then
  target="${target}:${target##*/}"
fi
if ! grep -qxF -- "${target}" "${seen}"; then
  echo "FAIL: the query over ${target} did not see ${target} itself"
  exit 1
fi
if [[ -s "${found}" ]]; then
  echo "FAIL: ${target} depends on what it must never reach:"
  sed 's/^/  /' "${found}"
  exit 1
fi
echo "PASS: $(wc -l < "${seen}") labels below ${target}, none of them forbidden"
