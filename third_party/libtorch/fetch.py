#!/usr/bin/env python3
"""Brings the pinned LibTorch into the user's cache folder and prints where it lies.

The cache is <XDG_CACHE_HOME or ~/.cache>/reprise/libtorch-<version>, shared by
all clones. A folder of that name is complete by construction: everything is
checked and unpacked beside it and renamed last, under a lock, so a failed or
killed run leaves nothing that a later one would take for a cache.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile

VERSION = "2.11.0"

# requirement, file name, SHA-256, arguments for pip, [(prefix in wheel, place in cache)]
WHEELS = [
    (
        "torch==2.11.0",
        "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "0f68f4ac6d95d12e896c3b7a912b5871619542ec54d3649cf48cc1edd4dd2756",
        ["--python-version", "312", "--platform", "manylinux_2_28_x86_64"],
        [("torch/lib/", "lib/"), ("torch/include/", "include/")],
    ),
    (
        "nvidia-cuda-runtime==13.0.96",
        "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        ["--platform", "manylinux_2_17_x86_64"],
        [("nvidia/cu13/lib/libcudart.so.13", "lib/libcudart.so.13")],
    ),
    (
        "nvidia-cuda-cupti==13.0.85",
        "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
        "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
        ["--platform", "manylinux_2_25_x86_64"],
        [("nvidia/cu13/lib/libcupti.so.13", "lib/libcupti.so.13")],
    ),
]

# Only what is linked or loaded; the Python bindings are left in the wheel.
UNUSED_LIBRARIES = ("libtorch_python.so", "libshm.so")


class FetchError(Exception):
    """What failed and what the person can do about it."""


def say(text):
    print(f"libtorch: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(folder, what):
    """Prints how many bytes lie in `folder`, every three seconds."""
    stop = threading.Event()

    def watch():
        while not stop.wait(3):
            size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
            say(f"{what}: {size / 1e6:.0f} MB so far")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def find_pip():
    """The first Python on this machine that has pip."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [python, "-m", "pip"]
    raise FetchError("no python3 with pip found; run tools/bazel itself once, it installs python3-pip")


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def download(pip, requirement, name, checksum, arguments, folder):
    """Downloads one wheel into `folder` and returns its path, verified."""
    say(f"downloading {name}")
    environment = dict(os.environ, TMPDIR=str(folder))
    command = pip + ["download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
                     "--dest", str(folder)] + arguments + [requirement]
    with progress(folder, "downloading"):
        result = subprocess.run(command, env=environment, stdout=sys.stderr)
    wheel = folder / name
    if result.returncode != 0 or not wheel.exists():
        raise FetchError(
            f"the download of {requirement} failed (pip's own message is above). Nothing was kept. "
            "Check the network and the package index that pip is set up with, then run the same "
            "command again; or unpack LibTorch 2.11 by hand and set LIBTORCH_HOME to its folder.")
    found = sha256(wheel)
    if found != checksum:
        raise FetchError(f"{name}: expected SHA-256 {checksum}, found {found}. Nothing was kept. The "
                         "package index gave another file than the pinned one; use an index that has it.")
    return wheel


def unpack(wheel, parts, destination):
    """Unpacks the members of `wheel` that `parts` maps, below `destination`."""
    say(f"unpacking {wheel.name}")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            for prefix, place in parts:
                if not member.filename.startswith(prefix) or member.is_dir():
                    continue
                if member.filename.endswith(UNUSED_LIBRARIES):
                    continue
                target = destination / (place + member.filename[len(prefix):])
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, open(target, "wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)


def ensure(cache, wheels=None, pip=None):
    """Returns the folder of the unpacked LibTorch below `cache`, fetching it when it is not there."""
    home = cache / f"libtorch-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".libtorch.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home.is_dir():
            return home
        for leftover in cache.glob(".libtorch-partial-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".libtorch-partial-", dir=cache) as staging:
            staging = pathlib.Path(staging)
            tree = staging / "tree"
            for requirement, name, checksum, arguments, parts in wheels or WHEELS:
                downloads = staging / "downloads"
                downloads.mkdir()
                wheel = download(pip or find_pip(), requirement, name, checksum, arguments, downloads)
                unpack(wheel, parts, tree)
                shutil.rmtree(downloads)
            os.rename(tree, home)
    say(f"ready in {home}")
    return home


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print_home", action="store_true",
                        help="print the folder on standard output (progress goes to standard error)")
    arguments = parser.parse_args()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    try:
        home = ensure(pathlib.Path(base) / "reprise")
    except (FetchError, OSError, zipfile.BadZipFile) as error:
        say(f"error: {error}")
        return 1
    if arguments.print_home:
        print(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
