#!/bin/bash
# Runs each trainer once in one go and once in two; the last line must be the same.
set -euo pipefail
for trainer in plain_trainer torch_trainer; do
  "./${trainer}" "${TEST_TMPDIR}/${trainer}.whole" 12 | tail -n 1 > "${TEST_TMPDIR}/whole"
  "./${trainer}" "${TEST_TMPDIR}/${trainer}.halves" 7
  "./${trainer}" "${TEST_TMPDIR}/${trainer}.halves" 12 | tee "${TEST_TMPDIR}/log"
  grep -q "goes on at step 7" "${TEST_TMPDIR}/log"
  tail -n 1 "${TEST_TMPDIR}/log" > "${TEST_TMPDIR}/halves"
  diff "${TEST_TMPDIR}/whole" "${TEST_TMPDIR}/halves"
  # A run folder that is no folder is refused, not trained over.
  echo text > "${TEST_TMPDIR}/${trainer}.file"
  if "./${trainer}" "${TEST_TMPDIR}/${trainer}.file" 3; then exit 1; fi
done
echo "both trainers went on bit for bit"
