"""Peak memory of a resumed process against one that began afresh, at the same step.

    bazel run //tools/bench:resume_memory
    bazel run //tools/bench:resume_memory -- --model=gpt --hidden=256

In turns: a run from its first step to its last, and the second half of the same
run, resumed from its checkpoint. The peak is the kernel's high-water mark of the
process (VmHWM, as getrusage gives it when the process has ended). Wanted: at
most 1.1 times the fresh one's.
"""

import os
import signal
import tempfile

import trainer_runs


def fresh(options, folder):
    run_dir = os.path.join(folder, "fresh")
    run = trainer_runs.Run(trainer_runs.command(options, run_dir, *saves(options)), run_dir)
    return run.wait().ru_maxrss / 1024, run_dir


def resumed(options, folder):
    run_dir = os.path.join(folder, "resumed")
    words = trainer_runs.command(options, run_dir, *saves(options))
    half = options.steps // 2
    first = trainer_runs.Run(words, run_dir)
    if first.watch(lambda: trainer_runs.step_lines(run_dir) >= half) is None:
        raise SystemExit(f"the run ended before step {half}; give it more --steps")
    first.process.send_signal(signal.SIGTERM)
    first.wait(expected=13)
    stopped_at = trainer_runs.last_step(run_dir)
    peak = trainer_runs.Run(words, run_dir).wait().ru_maxrss / 1024
    return peak, run_dir, stopped_at


def saves(options):
    return [f"--save_every={max(1, options.steps // 4)}",
            f"--set=save.background={'true' if options.background else 'false'}"]


def state_mib(run_dir):
    """Bytes of the last checkpoint."""
    newest = max(name for name in os.listdir(run_dir) if name.startswith("step-"))
    folder = os.path.join(run_dir, newest)
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / 2**20


def main():
    parser = trainer_runs.parser_for(__doc__.split("\n", maxsplit=1)[0], rounds=3, steps=40)
    parser.add_argument("--background", action="store_true", help="save behind training")
    options = parser.parse_args()
    fresh_peaks, resumed_peaks = [], []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="resume_memory-", dir=options.folder) as folder:
            # Which of the two comes first alternates too.
            for name in (("fresh", "resumed") if number % 2 == 0 else ("resumed", "fresh")):
                if name == "fresh":
                    peak, run_dir = fresh(options, folder)
                    fresh_peaks.append(peak)
                    size = state_mib(run_dir)
                else:
                    peak, run_dir, stopped_at = resumed(options, folder)
                    resumed_peaks.append(peak)
            trainer_runs.say(f"round {number + 1} of {options.rounds}: fresh {fresh_peaks[-1]:.1f} "
                             f"MiB, resumed from step {stopped_at} {resumed_peaks[-1]:.1f} MiB")
    print(f"{options.model}, hidden {options.hidden}, {options.precision}, {options.steps} steps, "
          f"checkpoint {size:.1f} MiB; {trainer_runs.load()}")
    print(f"fresh    {trainer_runs.spread(fresh_peaks)} MiB")
    print(f"resumed  {trainer_runs.spread(resumed_peaks)} MiB")
    ratios = [r / f for r, f in zip(resumed_peaks, fresh_peaks)]
    print(f"ratio    resumed / fresh {trainer_runs.spread(ratios, 3)}")


if __name__ == "__main__":
    main()
