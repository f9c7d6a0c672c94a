"""Tests of tools/bazel on machines that are made of a few fake programs.

The wrapper is copied into a small repository of its own, with one edit: the
path of os-release. PATH holds nothing but the programs a test puts there.
"""

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

DEADLINE_SECONDS = 30
WRAPPER = pathlib.Path(__file__).with_name("bazel")
REAL_PROGRAMS = ("bash", "cat", "dirname", "env", "grep", "readlink", "sleep")

# Prints one argument a line, so that a lost quote shows.
PRINT_ARGUMENTS = 'echo "$0 $$"\nprintf "<%s>\\n" "$@"\n'


class Machine:
    """A folder that stands for a machine: programs, os-release, one repository."""

    def __init__(self, root, release="ID=debian\nVERSION_ID=\"12\"\n", user=0):
        self.root = pathlib.Path(root)
        self.programs = self.root / "bin"
        self.programs.mkdir()
        for name in REAL_PROGRAMS:
            (self.programs / name).symlink_to(shutil.which(name))
        self.log = self.root / "log"
        self.log.touch()
        self.program("id", f'[ "$*" = "-u" ] && echo {user}')
        self.program("bazel", PRINT_ARGUMENTS)
        self.program("apt-get", f'echo "apt-get $*" >> {self.log}')
        self.program("dpkg-query", f"""
for package in "$@"; do
  case "$package" in
    -*) ;;
    *) grep -xF "installed $package" {self.root}/installed ||
         grep -xF "config-files $package" {self.root}/installed || code=1 ;;
  esac
done
exit ${{code:-0}}
""")
        os_release = self.root / "os-release"
        os_release.write_text(release)
        repository = self.root / "a folder" / "repository"
        (repository / "tools").mkdir(parents=True)
        (repository / "third_party").mkdir()
        self.packages = repository / "third_party" / "packages.txt"
        self.packages.write_text("# comment\nbazel-bootstrap\n\ng++\nzlib1g-dev\n")
        source = WRAPPER.read_text()
        assert source.count("/etc/os-release") == 1
        self.wrapper = repository / "tools" / "bazel"
        self.wrapper.write_text(source.replace("/etc/os-release", str(os_release)))
        self.wrapper.chmod(0o755)
        self.installed("bazel-bootstrap", "g++", "zlib1g-dev")

    def program(self, name, body):
        path = self.programs / name
        path.write_text("#!/bin/bash\n" + body)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def remove(self, name):
        (self.programs / name).unlink()

    def installed(self, *packages, also=""):
        lines = "".join(f"installed {p}\n" for p in packages)
        (self.root / "installed").write_text(lines + also)

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [str(self.wrapper), *arguments], env=dict(environment, PATH=str(self.programs)),
            cwd=self.root, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
        return process, out, err

    def calls(self):
        return self.log.read_text().splitlines()


class BazelWrapperTest(unittest.TestCase):

    def machine(self, **kwargs):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Machine(folder.name, **kwargs)

    def assert_is_bazel(self, machine, process, out, arguments):
        """`process` became `bazel` itself: the same pid, every argument as given."""
        lines = out.splitlines()
        self.assertEqual(lines[0], f"{machine.programs}/bazel {process.pid}")
        self.assertEqual(lines[1:], [f"<{a}>" for a in arguments])

    def test_nothing_missing_runs_bazel_with_the_arguments_unchanged(self):
        machine = self.machine()
        arguments = ["test", "//...", "--test_arg=two words", "", "*", "--"]
        process, out, err = machine.run(*arguments)
        self.assertEqual((process.returncode, err, machine.calls()), (0, "", []))
        self.assert_is_bazel(machine, process, out, arguments)

    def test_root_installs_exactly_what_is_missing(self):
        machine = self.machine()
        machine.installed("g++")
        process, out, err = machine.run("build")
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(machine.calls(), [
            "apt-get update",
            "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "
            "bazel-bootstrap zlib1g-dev",
        ])
        self.assertIn("bazel-bootstrap zlib1g-dev", err)
        self.assert_is_bazel(machine, process, out, ["build"])

    def test_removed_package_whose_configuration_stayed_is_missing(self):
        machine = self.machine()
        machine.installed("bazel-bootstrap", "zlib1g-dev", also="config-files g++\n")
        process, _, err = machine.run("build")
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(machine.calls()[1].endswith(" g++"), machine.calls())

    def test_last_package_counts_without_a_newline_after_it(self):
        machine = self.machine()
        machine.packages.write_text("g++\nlibre2-dev")
        process, _, err = machine.run("build")
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(machine.calls()[1].endswith(" libre2-dev"), machine.calls())

    def test_somebody_else_installs_through_sudo(self):
        machine = self.machine(user=1000)
        machine.installed("g++", "zlib1g-dev")
        machine.program("sudo", f'echo "sudo $1" >> {machine.log}\nexec "$@"')
        process, out, err = machine.run("build")
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(
            [call.split(" -")[0] for call in machine.calls()],
            ["sudo apt-get", "apt-get update", "sudo env", "apt-get install"])
        self.assert_is_bazel(machine, process, out, ["build"])

    def test_without_root_and_sudo_prints_the_command_and_stops(self):
        machine = self.machine(user=1000)
        machine.installed("g++")
        process, out, err = machine.run("build")
        self.assertEqual((process.returncode, out, machine.calls()), (1, "", []))
        self.assertIn(
            "apt-get update && apt-get install -y --no-install-recommends "
            "bazel-bootstrap zlib1g-dev\n", err)

    def test_another_distribution_gets_the_list_and_nothing_is_installed(self):
        for release in ("ID=ubuntu\nVERSION_ID=\"24.04\"\n", "ID=debian\nVERSION_ID=\"13\"\n", ""):
            with self.subTest(release=release):
                machine = self.machine(release=release)
                machine.installed("g++")
                process, out, err = machine.run("test", "//...")
                self.assertEqual((process.returncode, out, machine.calls()), (1, "", []))
                for line in ("not Debian 12", "  bazel-bootstrap\n", "  g++\n", "  zlib1g-dev\n",
                             "bazel test //..."):
                    self.assertIn(line, err)

    def test_machine_without_dpkg_gets_the_list(self):
        machine = self.machine(release="ID=fedora\nVERSION_ID=40\n")
        machine.remove("dpkg-query")
        process, out, err = machine.run("build")
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertIn("  bazel-bootstrap\n", err)

    def test_another_distribution_with_everything_in_place_runs_bazel(self):
        machine = self.machine(release="ID=ubuntu\nVERSION_ID=\"24.04\"\n")
        process, out, err = machine.run("build")
        self.assertEqual((process.returncode, err), (0, ""))
        self.assert_is_bazel(machine, process, out, ["build"])

    def test_failing_apt_stops_before_bazel(self):
        for failing in ("update", "install"):
            with self.subTest(failing=failing):
                machine = self.machine()
                machine.installed("g++")
                machine.program("apt-get", f'[ "$1" != {failing} ] || {{ echo "E: {failing}" >&2; exit 100; }}')
                process, out, err = machine.run("build")
                self.assertEqual((process.returncode, out), (1, ""))
                self.assertIn(f"E: {failing}", err)
                self.assertIn("could not be installed", err)

    def test_exit_code_is_bazels(self):
        machine = self.machine()
        machine.program("bazel", "exit 37")
        self.assertEqual(machine.run("build")[0].returncode, 37)

    def test_under_the_launcher_becomes_the_real_bazel_and_looks_at_nothing(self):
        machine = self.machine(release="ID=ubuntu\n", user=1000)
        machine.installed()
        real = machine.program("bazel-real", PRINT_ARGUMENTS + "exit 41\n")
        machine.remove("dpkg-query")
        arguments = ["run", "//trainer", "--", "--run_dir=a b"]
        process, out, err = machine.run(*arguments, BAZEL_REAL=str(real))
        self.assertEqual((process.returncode, err), (41, ""))
        self.assertEqual(out.splitlines(),
                         [f"{real} {process.pid}"] + [f"<{a}>" for a in arguments])

    def test_signal_reaches_the_real_bazel(self):
        machine = self.machine()
        ready = machine.root / "ready"
        real = machine.program("bazel-real", f"""
trap 'echo stopped by TERM; exit 13' TERM
echo > {ready}
while :; do sleep 0.05; done
""")
        process = machine.start("run", BAZEL_REAL=str(real))
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual((process.returncode, out), (13, "stopped by TERM\n"))


if __name__ == "__main__":
    unittest.main()
