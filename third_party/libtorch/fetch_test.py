"""Tests of fetch.py with a pip of our own and wheels of a few bytes."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import zipfile

from third_party.libtorch import fetch

DEADLINE_SECONDS = 30

# Stands in for pip: `download ... --dest FOLDER ... REQUIREMENT` copies the wheel
# that belongs to the requirement. Every call is a line in `calls`. While there is
# a file `hold`, it writes half a file, says so in `held` and waits.
FAKE_PIP = """
import pathlib, shutil, sys, time
index = pathlib.Path(sys.argv[1])
arguments = sys.argv[2:]
assert arguments[0] == "download", arguments
requirement = arguments[-1]
with open(index / "calls", "a") as calls:
    calls.write(requirement + "\\n")
destination = pathlib.Path(arguments[arguments.index("--dest") + 1])
if (index / "hold").exists():
    (destination / "half").write_bytes(b"half a wheel")
    (index / "held").touch()
    while (index / "hold").exists():
        time.sleep(0.01)
wheels = list((index / requirement).glob("*.whl"))
if not wheels:
    print("ERROR: no matching distribution for", requirement, file=sys.stderr)
    sys.exit(1)
for wheel in wheels:
    shutil.copy(wheel, destination)
"""

# Calls ensure() in a process of its own, as a repository rule does.
DRIVER = """
import json, pathlib, sys
from third_party.libtorch import fetch
cache, wheels, pip = json.loads(sys.argv[1])
print(fetch.ensure(pathlib.Path(cache), wheels, pip))
"""

def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {DEADLINE_SECONDS} s for {what}")
        time.sleep(0.01)

class FetchTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.cache = self.root / "cache"
        self.home = self.cache / f"libtorch-{fetch.VERSION}"
        self.index = self.root / "index"
        self.index.mkdir()
        program = self.root / "fake_pip.py"
        program.write_text(FAKE_PIP)
        self.pip = [sys.executable, str(program), str(self.index)]
        self.wheels = [
            self.add_wheel("torch==9", {
                "torch/lib/libc10.so": b"c10",
                "torch/lib/libtorch_python.so": b"bindings",
                "torch/include/ATen/ATen.h": b"#pragma once\n",
                "torch/nn/module.py": b"pass\n",
                "torch-9.dist-info/METADATA": b"Name: torch\n",
            }, [("torch/lib/", "lib/"), ("torch/include/", "include/")]),
            self.add_wheel("runtime==9", {
                "nvidia/cu13/lib/libcudart.so.13": b"cudart",
                "nvidia/cu13/include/cuda.h": b"not wanted",
            }, [("nvidia/cu13/lib/libcudart.so.13", "lib/libcudart.so.13")]),
        ]

    def add_wheel(self, requirement, members, parts):
        """Puts a wheel into the index; returns its entry for fetch.ensure()."""
        name = requirement.replace("==", "-") + "-none-any.whl"
        (self.index / requirement).mkdir()
        path = self.index / requirement / name
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        return [requirement, name, checksum, [], parts]

    def ensure(self):
        return fetch.ensure(self.cache, self.wheels, self.pip)

    def start(self):
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(DRIVER),
             json.dumps([str(self.cache), self.wheels, self.pip])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))

    def calls(self):
        log = self.index / "calls"
        return log.read_text().split() if log.exists() else []

    def kept(self):
        """What the cache folder holds apart from the lock."""
        return sorted(p.name for p in self.cache.iterdir() if p.name != ".libtorch.lock")

    def test_keeps_only_libraries_and_headers(self):
        self.assertEqual(self.ensure(), self.home)
        files = {str(p.relative_to(self.home)): p.read_bytes()
                 for p in self.home.rglob("*") if p.is_file()}
        self.assertEqual(files, {
            "lib/libc10.so": b"c10",
            "lib/libcudart.so.13": b"cudart",
            "include/ATen/ATen.h": b"#pragma once\n",
        })
        self.assertEqual(self.kept(), [self.home.name])

    def test_takes_its_name_only_when_everything_is_unpacked(self):
        renames = []
        rename = os.rename

        def watched(source, target):
            files = sorted(str(p.relative_to(source))
                           for p in pathlib.Path(source).rglob("*") if p.is_file())
            renames.append((files, self.home.exists(), pathlib.Path(target)))
            rename(source, target)

        os.rename = watched
        try:
            self.ensure()
        finally:
            os.rename = rename
        everything = ["include/ATen/ATen.h", "lib/libc10.so", "lib/libcudart.so.13"]
        self.assertEqual(renames, [(everything, False, self.home)])

    def test_second_call_downloads_nothing(self):
        self.ensure()
        first = self.calls()
        self.assertEqual(first, ["torch==9", "runtime==9"])
        self.assertEqual(self.ensure(), self.home)
        self.assertEqual(self.calls(), first)

    def test_wrong_checksum_names_both_and_keeps_nothing(self):
        right = self.wheels[1][2]
        wrong = "0" * 64
        self.wheels[1][2] = wrong
        with self.assertRaises(fetch.FetchError) as caught:
            self.ensure()
        self.assertIn(f"expected SHA-256 {wrong}, found {right}", str(caught.exception))
        self.assertIn(self.wheels[1][1], str(caught.exception))
        self.assertEqual(self.kept(), [])

    def test_failed_download_says_what_to_do_and_keeps_nothing(self):
        (self.index / "runtime==9" / self.wheels[1][1]).unlink()
        with self.assertRaises(fetch.FetchError) as caught:
            self.ensure()
        for part in ("runtime==9", "Check the network", "LIBTORCH_HOME"):
            self.assertIn(part, str(caught.exception))
        self.assertEqual(self.kept(), [])

    def test_file_of_another_name_is_a_failed_download(self):
        wheel = self.index / "torch==9" / self.wheels[0][1]
        wheel.rename(wheel.with_name("torch-8-none-any.whl"))
        with self.assertRaises(fetch.FetchError) as caught:
            self.ensure()
        self.assertIn("torch==9", str(caught.exception))
        self.assertEqual(self.kept(), [])

    def test_full_disk_while_unpacking_keeps_nothing(self):
        copy = fetch.shutil.copyfileobj

        def fails(*unused):
            raise OSError(28, "No space left on device")

        fetch.shutil.copyfileobj = fails
        try:
            with self.assertRaises(OSError):
                self.ensure()
        finally:
            fetch.shutil.copyfileobj = copy
        self.assertEqual(self.kept(), [])

    def test_sweeps_what_a_killed_run_left(self):
        (self.index / "hold").touch()
        process = self.start()
        wait_until((self.index / "held").exists, "the download to begin")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        left = self.kept()
        self.assertEqual(len(left), 1, left)
        self.assertTrue(left[0].startswith(".libtorch-partial-"), left)
        (self.index / "hold").unlink()
        self.assertEqual(self.ensure(), self.home)
        self.assertEqual(self.kept(), [self.home.name])

    def test_two_processes_at_once_download_once(self):
        (self.index / "hold").touch()
        first = self.start()
        wait_until((self.index / "held").exists, "the first download to begin")
        second = self.start()
        wait_until(lambda: self.waits_for_lock(second.pid), "the second process to wait")
        (self.index / "hold").unlink()
        for process in (first, second):
            out, err = process.communicate(timeout=DEADLINE_SECONDS)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(out.strip(), str(self.home))
        self.assertEqual(self.calls(), ["torch==9", "runtime==9"])

    def waits_for_lock(self, pid):
        """Whether `pid` has the lock file open and sleeps in the kernel."""
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):
            names = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            return state == "S" and str(self.cache / ".libtorch.lock") in names
        return False

    def test_prints_the_folder_alone_on_standard_output(self):
        home = self.root / "xdg" / "reprise" / f"libtorch-{fetch.VERSION}"
        home.mkdir(parents=True)
        result = subprocess.run(
            [sys.executable, fetch.__file__, "--print_home"], capture_output=True, text=True,
            env=dict(os.environ, XDG_CACHE_HOME=str(self.root / "xdg")))
        self.assertEqual((result.returncode, result.stdout), (0, f"{home}\n"), result.stderr)

    def test_pinned_wheels_are_whole_entries(self):
        for requirement, name, checksum, _, parts in fetch.WHEELS:
            self.assertRegex(requirement, r"^[a-z-]+==[0-9.]+$")
            self.assertRegex(checksum, r"^[0-9a-f]{64}$")
            self.assertTrue(name.endswith(".whl"))
            self.assertTrue(parts)

if __name__ == "__main__":
    unittest.main()
