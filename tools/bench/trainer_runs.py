"""Runs of the reference trainer as processes, for the benchmarks of this folder."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

POLL_SECONDS = 0.005
TIMEOUT_SECONDS = 600


def trainer_path():
    """The trainer among the runfiles of `bazel run`."""
    return pathlib.Path(sys.argv[0]).absolute().parents[2] / "trainer" / "trainer"


def say(text):
    print(f"{pathlib.Path(sys.argv[0]).stem}: {text}", file=sys.stderr, flush=True)


def parser_for(description, rounds, steps):
    """A parser with what all of these benchmarks take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds,
                        help=f"of each side, in turns (default {rounds})")
    parser.add_argument("--steps", type=int, default=steps,
                        help=f"of a whole run (default {steps})")
    parser.add_argument("--threads", type=int, default=1, help="of the trainer (default 1)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp16", "bf16", "fp32"), default="fp32")
    parser.add_argument("--model", choices=("mlp", "convnet", "resnet18", "gpt"), default="mlp")
    parser.add_argument("--hidden", type=int, default=2048,
                        help="model.hidden: how large the state is (default 2048)")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--folder", help="where the runs are written (default: the system's "
                        "folder for temporary files); give one on the disk that is meant")
    parser.add_argument("--trainer", type=pathlib.Path, default=trainer_path())
    return parser


def environment():
    # Threads that spin while they wait make a busy machine measure the neighbours.
    return dict(os.environ, OMP_WAIT_POLICY=os.environ.get("OMP_WAIT_POLICY", "passive"))


def command(options, run_dir, *more):
    return [str(options.trainer), f"--run_dir={run_dir}", f"--steps={options.steps}",
            f"--threads={options.threads}", f"--precision={options.precision}",
            f"--device={options.device}",
            "--set=data.name=" + ("text" if options.model == "gpt" else "synthetic"),
            f"--set=model.kind={options.model}", f"--set=model.hidden={options.hidden}",
            f"--set=data.batch_size={options.batch}", "--set=data.augment=false",
            f"--set=run.eval_every={options.steps}", *more]


def step_lines(run_dir):
    """Steps in metrics.jsonl; a last line that is not whole yet does not count."""
    try:
        with open(os.path.join(run_dir, "metrics.jsonl"), "rb") as file:
            return sum(line.endswith(b"\n") and b'"type":"step"' in line.replace(b" ", b"")
                       for line in file)
    except FileNotFoundError:
        return 0


def last_step(run_dir):
    last = 0
    with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n") and '"type":"step"' in line.replace(" ", ""):
                last = json.loads(line)["step"]
    return last


class Run:
    """One process of the trainer; its output is in RUN_DIR.log."""

    def __init__(self, words, run_dir):
        self.words, self.run_dir = words, str(run_dir)
        self.log_path = self.run_dir + ".log"
        self.usage = None
        with open(self.log_path, "ab") as log:
            self.begin = time.monotonic()
            self.process = subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT)

    def ended(self):
        """Whether the process has ended; then `usage` is its getrusage."""
        if self.usage is not None:
            return True
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.usage = usage
        return True

    def watch(self, until):
        """Polls until `until()` is true (returns when it was seen) or the process has ended (None)."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not until():
            if self.ended():
                return None
            if time.monotonic() > deadline:
                self.kill()
                raise SystemExit(f"{self.words[0]}: nothing for {TIMEOUT_SECONDS} s; {self.log_path}")
            time.sleep(POLL_SECONDS)
        return time.monotonic()

    def wait(self, expected=0):
        self.watch(lambda: False)
        if self.process.returncode != expected:
            with open(self.log_path, errors="replace", encoding="utf-8") as log:
                sys.stderr.write(log.read()[-3000:])
            raise SystemExit(f"{self.words[0]} ended with {self.process.returncode}, "
                             f"expected {expected}")
        return self.usage

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        while not self.ended():
            time.sleep(0.001)
        return time.monotonic()


def spread(values, digits=1):
    values = sorted(values)
    return (f"{statistics.median(values):.{digits}f} "
            f"({values[0]:.{digits}f} to {values[-1]:.{digits}f})")


def load():
    """The machine's load while this was measured, as a line of the result."""
    return (f"{os.cpu_count()} cores, load average "
            + ", ".join(f"{value:.1f}" for value in os.getloadavg()))
