"""Each benchmark of the trainer runs, on a tiny run, and prints what it says it does. No time is asserted."""

import os
import re
import subprocess
import sys
import unittest

TINY = ["--rounds=1", "--model=mlp", "--hidden=16", "--batch=8", "--trainer=trainer/trainer",
        "--folder=" + os.environ["TEST_TMPDIR"]]
SPREAD = r"-?[0-9.]+ \(-?[0-9.]+ to -?[0-9.]+\)"


class BenchTest(unittest.TestCase):

    def run_bench(self, name, *more):
        done = subprocess.run([sys.executable, f"tools/bench/{name}.py", *TINY, *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("load average", done.stdout)
        return done.stdout

    def test_save_overhead_compares_three_sides(self):
        says = self.run_bench("save_overhead", "--steps=400", "--dropped=20", "--save_every=100")
        for side in ("off", "on", "writer"):
            self.assertRegex(says, f"(?m)^{side} +{SPREAD} ms a step")
        for ratio in ("on / off", "writer / off", "on / writer"):
            self.assertRegex(says, f"(?m)^{ratio} +{SPREAD}$")
        self.assertRegex(says, r"beyond the disk's share: -?[0-9.]+ %")
        self.assertRegex(says, f"(?m)^a bare write of the same bytes takes {SPREAD} s, {SPREAD} ms")
        self.assertRegex(says, f"(?m)^processor time of saves {SPREAD} ms a step, of a bare writer")

    def test_restart_time_splits_the_time_without_a_gap(self):
        for more in ((), ("--cold",)):
            says = self.run_bench("restart_time", *more)
            parts = {name: float(value) for name, value in re.findall(
                r"(?m)^  (start|choose|verify|read|rebuild|first step) +([0-9.]+) \(", says)}
            self.assertEqual(len(parts), 6, says)
            # The others may take less than is printed, of so small a run.
            for name in ("start", "rebuild"):
                self.assertGreater(parts[name], 0, says)
            self.assertRegex(says, f"(?m)^kill to first step +{SPREAD} s$")
            self.assertRegex(says, f"(?m)^fresh run, to first step +{SPREAD} s$")

    def test_resume_memory_compares_peaks_at_the_same_step(self):
        says = self.run_bench("resume_memory", "--steps=400")
        peaks = {name: float(value) for name, value in
                 re.findall(r"(?m)^(fresh|resumed) +([0-9.]+) \(", says)}
        # LibTorch alone takes more; the unit is MiB.
        self.assertGreater(peaks["fresh"], 50)
        self.assertLess(peaks["fresh"], 4000)
        self.assertRegex(says, f"(?m)^ratio +resumed / fresh {SPREAD}$")


if __name__ == "__main__":
    unittest.main()
