"""Time from a kill to the first step of the process that goes on, and what it went into.

    bazel run //tools/bench:restart_time
    bazel run //tools/bench:restart_time -- --model=gpt --hidden=256 --rounds=10

In turns: a run is killed (SIGKILL) and started again at once, and a run begins
afresh. A restart ends when the trainer's log has the line "First step ... after
the process began" (trainer/start_times.h), which it writes at the end of the
step. The parts are that line's; their sum is compared with what was seen from
outside. Before a restart
the checkpoint's pages are in the system's cache, unless --cold is given: then
the files are dropped from it (which needs no privileges, as they are synced).
"""

import os
import re
import signal
import statistics
import tempfile

import trainer_runs

LINE = re.compile(rb"First step (?P<total>[0-9.]+) s after the process began: (?P<parts>[^\n]*)")
PARTS = ("start", "choose", "verify", "read", "rebuild", "first step")


def parts_of(log_path):
    """{part: seconds} of the last start in the log, and their sum as the trainer says it."""
    with open(log_path, "rb") as log:
        found = list(LINE.finditer(log.read()))
    if not found:
        raise SystemExit(f"{log_path}: expected the line 'First step ... after the process began'")
    seconds = {}
    for part in found[-1].group("parts").decode().split(", "):
        name, value = part.strip().rsplit(" ", 1)
        seconds[name] = float(value)
    if set(seconds) != set(PARTS):
        raise SystemExit(f"{log_path}: expected the parts {PARTS}, found {tuple(seconds)}")
    return seconds, float(found[-1].group("total"))


def drop_from_cache(run_dir):
    for folder, _, names in os.walk(run_dir):
        for name in names:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def first_step(words, run_dir, since=None):
    """Starts the trainer; returns seconds to its first step (from `since`, or its start) and its parts."""
    log = str(run_dir) + ".log"
    said = os.path.getsize(log) if os.path.exists(log) else 0
    run = trainer_runs.Run(words, run_dir)

    def seen():
        with open(log, "rb") as file:
            file.seek(said)
            return b"First step " in file.read()
    end = run.watch(seen)
    if end is None:
        raise SystemExit(f"the trainer ended with {run.process.returncode} before a step; {log}")
    seconds, total = parts_of(log)
    return run, end - (run.begin if since is None else since), seconds, total


def main():
    parser = trainer_runs.parser_for(__doc__.split("\n", maxsplit=1)[0], rounds=6, steps=100000)
    parser.add_argument("--save_every", type=int, default=5)
    parser.add_argument("--cold", action="store_true",
                        help="drop the run's files from the system's cache before each restart")
    options = parser.parse_args()
    more = (f"--save_every={options.save_every}", "--set=save.background=false")
    outside, fresh_times, totals, parts = [], [], [], {name: [] for name in PARTS}
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="restart_time-", dir=options.folder) as folder:
            run_dir = os.path.join(folder, "run")
            words = trainer_runs.command(options, run_dir, *more)
            run, fresh, _, _ = first_step(words, run_dir)
            if run.watch(lambda: trainer_runs.step_lines(run_dir) >= options.save_every + 2) is None:
                raise SystemExit("the run ended too early; give it more --steps")
            killed = run.kill()
            if options.cold:
                drop_from_cache(run_dir)
                killed = None
            run, seconds, split, total = first_step(words, run_dir, since=killed)
            run.process.send_signal(signal.SIGKILL)
            run.watch(lambda: False)
            outside.append(seconds)
            fresh_times.append(fresh)
            totals.append(total)
            for name in PARTS:
                parts[name].append(split[name])
            trainer_runs.say(f"round {number + 1} of {options.rounds}: {seconds:.3f} s, "
                             f"of a fresh run {fresh:.3f} s")
    print(f"{options.model}, hidden {options.hidden}, {options.precision}, {options.threads} "
          f"thread(s), {'cold' if options.cold else 'warm'} files; {trainer_runs.load()}")
    print(f"kill to first step  {trainer_runs.spread(outside, 3)} s")
    for name in PARTS:
        print(f"  {name:17} {trainer_runs.spread(parts[name], 3)} s")
    rest = [o - t for o, t in zip(outside, totals)]
    print(f"  {'not in the parts':17} {trainer_runs.spread(rest, 3)} s (starting the process, and "
          f"seeing the step)")
    print(f"fresh run, to first step  {trainer_runs.spread(fresh_times, 3)} s")
    ratio = statistics.median(o / f for o, f in zip(outside, fresh_times))
    print(f"ratio    restart / fresh {ratio:.3f}")


if __name__ == "__main__":
    main()
