"""What background saves every 10 steps cost the step, beyond the disk's own share.

    bazel run //tools/bench:save_overhead
    bazel run //tools/bench:save_overhead -- --model=mlp --hidden=2048 --folder=/data

Three kinds of runs take turns:

    off     no saves
    on      a save behind training every --save_every steps
    writer  no saves; meanwhile this program writes the bytes of a checkpoint to
            the same file system at the same steps, with one fdatasync each, as
            plainly as a program can

on / off is the overhead, writer / off the share of it that the disk (and the
processor time of writing) has by itself, on / writer what is left. Wanted: on -
writer at most 3 % of off. The same in processor time of the whole process, which
a busy machine disturbs less, and which counts what the saving thread does beside
training too. Steps are counted from the one after the first
--dropped to the last one; the time is the difference of what this program sees.
"""

import os
import statistics
import tempfile
import threading
import time

import trainer_runs

SIDES = ("off", "on", "writer")


class BareWriter:
    """Writes `size` bytes whenever it is told to, behind the one who tells."""

    def __init__(self, folder, size):
        self.folder, self.block, self.size = folder, os.urandom(1 << 20), size
        self.due, self.stopped = 0, False
        self.wrote = []  # (seconds, processor seconds) of each
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def tell(self):
        with self.changed:
            self.due += 1
            self.changed.notify()

    def stop(self):
        with self.changed:
            self.stopped = True
            self.changed.notify()
        self.thread.join()

    def work(self):
        number = 0
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.due > number or self.stopped)
                if self.due <= number:
                    return
            number += 1
            begin, processor = time.monotonic(), time.thread_time()
            path = os.path.join(self.folder, f"bare-{number % 3}")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            left = self.size
            while left > 0:
                left -= os.write(descriptor, self.block[:left])
            os.fdatasync(descriptor)
            os.close(descriptor)
            self.wrote.append((time.monotonic() - begin, time.thread_time() - processor))


def segment(options, folder, side, size):
    """Seconds a step, processor seconds a step, what the writer wrote, and the run folder."""
    run_dir = os.path.join(folder, side)
    every = options.save_every if side == "on" else options.steps + 1
    words = trainer_runs.command(options, run_dir, f"--save_every={every}",
                                 f"--set=save.background={'true' if side == 'on' else 'false'}")
    writer = BareWriter(folder, size) if side == "writer" else None
    marks = {}
    told = 0
    run = trainer_runs.Run(words, run_dir)

    def done():
        nonlocal told
        lines = trainer_runs.step_lines(run_dir)
        now = time.monotonic()
        # The last step of a run is followed by its last save; its line is not.
        if lines >= options.dropped and "first" not in marks:
            marks["first"] = (now, lines)
        if lines > 0:
            marks["last"] = marks["last"] if marks.get("last", (0, 0))[1] == lines else (now, lines)
        while writer is not None and told < lines // options.save_every:
            told += 1
            writer.tell()
        return False

    run.watch(done)
    if writer is not None:
        writer.stop()
    run.wait()
    (begin, first), (end, last) = marks["first"], marks["last"]
    if last - first < (options.steps - options.dropped) // 2:
        raise SystemExit(f"too few steps were seen apart ({first} to {last}); make them longer")
    usage = run.usage
    return ((end - begin) / (last - first), (usage.ru_utime + usage.ru_stime) / options.steps,
            writer.wrote if writer is not None else [], run_dir)


def checkpoint_bytes(run_dir):
    newest = max(name for name in os.listdir(run_dir) if name.startswith("step-"))
    folder = os.path.join(run_dir, newest)
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def main():
    parser = trainer_runs.parser_for(__doc__.split("\n", maxsplit=1)[0], rounds=5, steps=120)
    parser.add_argument("--save_every", type=int, default=10)
    parser.add_argument("--dropped", type=int, default=20,
                        help="first steps of a run that are not counted (default 20)")
    options = parser.parse_args()
    if not 0 < options.dropped <= options.steps - 2:
        parser.error("expected at least two counted steps")
    seconds = {side: [] for side in SIDES}
    cpu = {side: [] for side in SIDES}
    bare = []
    # How much a checkpoint is.
    with tempfile.TemporaryDirectory(prefix="save_overhead-", dir=options.folder) as folder:
        _, _, _, run_dir = segment(options, folder, "on", 0)
        size = checkpoint_bytes(run_dir)
    for number in range(options.rounds):
        order = SIDES if number % 2 == 0 else SIDES[::-1]
        for side in order:
            with tempfile.TemporaryDirectory(prefix="save_overhead-", dir=options.folder) as folder:
                step, processor, wrote, _ = segment(options, folder, side, size)
            seconds[side].append(1000 * step)
            cpu[side].append(1000 * processor)
            bare += wrote
        trainer_runs.say(f"round {number + 1} of {options.rounds}: " + ", ".join(
            f"{side} {seconds[side][-1]:.2f} ms" for side in SIDES))
    print(f"{options.model}, hidden {options.hidden}, {options.precision}, batch {options.batch}, "
          f"{options.threads} thread(s), {options.device}; a save of {size / 2**20:.1f} MiB every "
          f"{options.save_every} steps; {trainer_runs.load()}")
    for side in SIDES:
        print(f"{side:7} {trainer_runs.spread(seconds[side], 2)} ms a step; processor time "
              f"{trainer_runs.spread(cpu[side], 2)} ms a step of the whole process")
    print(f"a bare write of the same bytes takes {trainer_runs.spread([w for w, _ in bare], 3)} s, "
          f"{trainer_runs.spread([1000 * c for _, c in bare])} ms of processor time")

    def ratio(a, b):
        return [x / y for x, y in zip(seconds[a], seconds[b])]

    print(f"on / off      {trainer_runs.spread(ratio('on', 'off'), 3)}")
    print(f"writer / off  {trainer_runs.spread(ratio('writer', 'off'), 3)}")
    print(f"on / writer   {trainer_runs.spread(ratio('on', 'writer'), 3)}")
    beyond = [(on - writer) / off for on, writer, off in
              zip(seconds["on"], seconds["writer"], seconds["off"])]
    print(f"beyond the disk's share: {100 * statistics.median(beyond):.1f} % of a step "
          f"({100 * min(beyond):.1f} to {100 * max(beyond):.1f})")
    # Less disturbed by what else the machine does; counts what runs beside training too.
    off = statistics.median(cpu["off"])
    saves = [a - b for a, b in zip(cpu["on"], cpu["off"])]
    share = 1000 * statistics.median(c for _, c in bare) / options.save_every
    print(f"processor time of saves {trainer_runs.spread(saves, 2)} ms a step, of a bare writer "
          f"{share:.2f}: beyond it {100 * (statistics.median(saves) - share) / off:.1f} % of a step")


if __name__ == "__main__":
    main()
