#!/bin/bash
# Tries train.sbatch for real, on this machine alone: starts a Slurm of one node
# in a temporary folder, lets a run be stopped by its time limit until it is done,
# and compares its metrics with a run that was never stopped.
#   bazel build //trainer && tools/slurm/try.sh [STEPS]
# Needs Debian's slurm-wlm, and root for its daemons. Takes about ten minutes.
# Exit codes: 0 equal, 1 usage, 10 no slurm, 12 it differs or never ended.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
trainer="$(readlink -f "${root}/bazel-bin/trainer/trainer")"
steps="${1:-6000}"
for program in slurmctld slurmd sbatch; do
  if ! command -v "${program}" > /dev/null; then
    echo "try.sh: expected ${program}, found none: apt-get install slurm-wlm" >&2
    exit 10
  fi
done
if [[ ! -x ${trainer} ]]; then
  echo "try.sh: expected bazel-bin/trainer/trainer: bazel build //trainer" >&2
  exit 1
fi

place="$(mktemp -d)"
export SLURM_CONF="${place}/slurm.conf"
daemons=()
finish() {
  for pid in "${daemons[@]}"; do kill "${pid}" 2> /dev/null; done
  wait
}
trap finish EXIT
mkdir "${place}/state" "${place}/spool"
cat > "${SLURM_CONF}" << END
ClusterName=trial
SlurmctldHost=$(hostname)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=${place}/state
SlurmdSpoolDir=${place}/spool
SlurmctldPidFile=${place}/slurmctld.pid
SlurmdPidFile=${place}/slurmd.pid
SlurmctldPort=16817
SlurmdPort=16818
ReturnToService=2
JobRequeue=1
MpiDefault=none
NodeName=$(hostname) CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
slurmctld -D > "${place}/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N "$(hostname)" > "${place}/slurmd.log" 2>&1 &
daemons+=($!)
for _ in $(seq 60); do
  sinfo -h -o %t 2> /dev/null | grep -q idle && break
  sleep 1
done

flags=(--steps="${steps}" --save_every=1000000 --threads=1 --set=data.name=synthetic
  --set=run.eval_every=1000000)
job="$(sbatch --parsable --time=3 --output="${place}/job.log" "${root}/tools/slurm/train.sbatch" \
  "${trainer}" --run_dir="${place}/stopped" "${flags[@]}")" || exit 12
echo "job ${job} of ${steps} steps, three minutes at a time; log: ${place}/job.log"
for _ in $(seq 360); do
  state="$(scontrol show job "${job}" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')"
  case "${state}" in COMPLETED | FAILED | TIMEOUT | CANCELLED | NODE_FAIL) break ;; esac
  sleep 5
done
grep -c 'back into the queue' "${place}/job.log" | sed 's/$/ times stopped and requeued/'
if [[ ${state} != COMPLETED ]]; then
  echo "try.sh: expected the job to complete, found ${state}; see ${place}" >&2
  exit 12
fi
"${trainer}" --run_dir="${place}/whole" "${flags[@]}" > "${place}/whole.log" 2>&1 || exit 12
if ! python3 - "${place}" << 'END'
import json, sys
def steps(name):
    lines = [json.loads(line) for line in open('%s/%s/metrics.jsonl' % (sys.argv[1], name))]
    for line in lines:
        line.pop('attempt', None)
    return lines
stopped, whole = steps('stopped'), steps('whole')
for a, b in zip(stopped, whole):
    if a != b:
        sys.exit('step %d differs: %s and %s' % (a['step'], a, b))
if len(stopped) != len(whole):
    sys.exit('%d records and %d' % (len(stopped), len(whole)))
print('%d records equal to the bit' % len(whole))
END
then
  exit 12
fi
rm -rf "${place}"
