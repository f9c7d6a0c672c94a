"""Step time of the reference trainer against the same run in Python, in one measurement.

    bazel run //tools/bench:step_time
    bazel run //tools/bench:step_time -- --segments=5 --threads=1 --precision=fp32 --model=gpt

Both sides are processes that append one line per step to a file; the same watcher
reads both. They take turns in short segments (C++, Python, Python, C++, ...), so
that what else the machine does falls on both. The first steps of a segment are not
counted. See README.md for what is alike and what is not.
"""

import argparse
import fcntl
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TORCH = "2.11.0"

# The smallest set with which `import torch` of the PyPI wheel works on a machine
# without a GPU (2 GB): torch's Python extension is linked to its CUDA half, which
# is linked to these. Versions as they were seen to work.
PACKAGES = [
    f"torch=={TORCH}", "numpy==2.4.6", "typing_extensions==4.16.0", "sympy==1.14.0",
    "mpmath==1.4.1", "networkx==3.6.1", "jinja2==3.1.6", "markupsafe==3.0.4",
    "fsspec==2026.9.0", "filelock==4.3.1", "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cupti==13.0.85", "nvidia-cublas==13.1.0.3", "nvidia-cudnn-cu13==9.19.0.56",
    "nvidia-cusparselt-cu13==0.8.0", "nvidia-nccl-cu13==2.28.9", "nvidia-nvshmem-cu13==3.4.5",
    "nvidia-cusparse==12.9.4.2", "nvidia-cufft==12.5.0.14", "nvidia-cufile==1.20.0.107",
    "nvidia-curand==10.4.5.25", "nvidia-nvjitlink==13.5.37",
]

POLL_SECONDS = 0.005


def say(text):
    print(f"step_time: {text}", file=sys.stderr, flush=True)


def python_torch(cache):
    """The folder with Python's torch below `cache`, installed when it is not there."""
    home = cache / f"python-torch-{TORCH}-cp{sys.version_info[0]}{sys.version_info[1]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".python-torch.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home.is_dir():
            return home
        for leftover in cache.glob(".python-torch-partial-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        say(f"installing torch {TORCH} for Python into {home} (2 GB to download, once)")
        with tempfile.TemporaryDirectory(prefix=".python-torch-partial-", dir=cache) as staging:
            tree = os.path.join(staging, "tree")
            subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir",
                 "--target", tree, *PACKAGES],
                check=True, stdout=sys.stderr, env=dict(os.environ, TMPDIR=staging))
            os.rename(tree, home)
    return home


def count_lines(path):
    try:
        with open(path, "rb") as file:
            return sum(b'"type":"step"' in line.replace(b" ", b"") for line in file)
    except FileNotFoundError:
        return 0


def measure(command, environment, run_dir, steps, dropped):
    """Runs `command` and returns its seconds per step after the first `dropped`."""
    metrics = os.path.join(run_dir, "metrics.jsonl")
    output = os.path.join(run_dir, "output")
    first = last = None
    size = -1
    with open(output, "wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            try:
                new_size = os.stat(metrics).st_size
            except FileNotFoundError:
                continue
            if new_size == size:
                continue
            size = new_size
            now, lines = time.monotonic(), count_lines(metrics)
            if lines > dropped and first is None:
                first = (now, lines)
            if lines > 0:
                last = (now, lines)
    if process.returncode != 0 or count_lines(metrics) != steps:
        with open(output, errors="replace") as log:
            sys.stderr.write(log.read())
        raise SystemExit(f"{command[0]} ended with {process.returncode} after "
                         f"{count_lines(metrics)} of {steps} steps")
    return (last[0] - first[0]) / (last[1] - first[1])


def describe(name, seconds):
    milliseconds = sorted(1000 * s for s in seconds)
    print(f"{name:8} median {statistics.median(milliseconds):7.2f} ms/step   "
          f"min {milliseconds[0]:.2f}   max {milliseconds[-1]:.2f}   "
          f"({len(milliseconds)} segments)")


def trainer_path():
    """The trainer among the runfiles of `bazel run`."""
    return pathlib.Path(__file__).absolute().parents[2] / "trainer" / "trainer"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segments", type=int, default=6, help="of each side (default 6)")
    parser.add_argument("--steps", type=int, default=120, help="of a segment (default 120)")
    parser.add_argument("--dropped", type=int, default=20,
                        help="first steps of a segment that are not counted (default 20)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(),
                        help="CPU threads of both sides (default: one per core)")
    parser.add_argument("--precision", choices=("fp16", "bf16", "fp32"), default="fp16")
    parser.add_argument("--model", choices=("mlp", "convnet", "resnet18", "gpt"), default="convnet")
    parser.add_argument("--batch", type=int, help="samples of a step (default: the trainer's)")
    parser.add_argument("--data_dir", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--trainer", type=pathlib.Path, default=trainer_path())
    options = parser.parse_args()
    if options.segments < 1 or not 0 < options.dropped < options.steps - 10:
        parser.error("expected at least 1 segment and 10 counted steps in it")

    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    torch_home = python_torch(pathlib.Path(base) / "reprise")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    # Threads that spin while they wait make a busy machine measure the neighbours.
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    python_environment = dict(environment, PYTHONPATH=str(torch_home))
    text = options.model == "gpt"
    batch = options.batch or (16 if text else 128)
    common = [f"--steps={options.steps}", f"--threads={options.threads}",
              f"--precision={options.precision}"]
    # gpt's text is where both sides look for it.
    cpp = [str(options.trainer), *common, *([] if text else [f"--data_dir={options.data_dir}"]),
           f"--save_every={options.steps + 1}", f"--set=model.kind={options.model}",
           f"--set=data.batch_size={batch}", "--set=data.augment=false",
           f"--set=data.test_limit={1 if text else 1000}", "--set=schedule.warmup=10"]
    python = [sys.executable, str(pathlib.Path(__file__).absolute().with_name("python_run.py")),
              *common, f"--data_dir={options.data_dir}", f"--model={options.model}",
              f"--batch={batch}"]

    sides = {"C++": (cpp, environment, []), "Python": (python, python_environment, [])}
    order = ["C++", "Python"]
    for segment in range(options.segments):
        for name in order if segment % 2 == 0 else reversed(order):
            command, its_environment, seconds = sides[name]
            with tempfile.TemporaryDirectory(prefix="step_time-") as run_dir:
                seconds.append(measure(command + [f"--run_dir={run_dir}"], its_environment,
                                       run_dir, options.steps, options.dropped))
            say(f"segment {segment + 1} of {options.segments}, {name}: "
                f"{1000 * seconds[-1]:.2f} ms/step")

    cpp_seconds, python_seconds = sides["C++"][2], sides["Python"][2]
    print(f"torch {TORCH}, {options.model}, {options.precision}, {options.threads} thread(s), "
          f"batch {batch}, "
          f"{options.steps - options.dropped} counted steps a segment")
    describe("C++", cpp_seconds)
    describe("Python", python_seconds)
    ratios = sorted(p / c for c, p in zip(cpp_seconds, python_seconds))
    print(f"ratio    Python / C++ {statistics.median(ratios):.3f} "
          f"(neighbouring segments: {ratios[0]:.3f} to {ratios[-1]:.3f})")


if __name__ == "__main__":
    main()
