#!/bin/bash
# The check itself can fail: a forbidden label, and a query that saw nothing.
set -euo pipefail
check="$1"
empty="${TEST_TMPDIR}/empty"
full="${TEST_TMPDIR}/full"
: > "${empty}"
printf '//format:format\n@libtorch//:torch_cpu\n' > "${full}"

"${check}" "${empty}" "${full}" //format
if "${check}" "${full}" "${full}" //format; then
  echo "FAIL: a forbidden label went unnoticed"
  exit 1
fi
if "${check}" "${empty}" "${empty}" //format; then
  echo "FAIL: a query that saw nothing went unnoticed"
  exit 1
fi
echo "PASS"
