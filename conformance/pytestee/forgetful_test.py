"""The forgetful trainer forgets exactly its scaler and its place in the data."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from conformance.fake.testing import drive

COMMAND = [sys.executable, "conformance/pytestee/forgetful.py"]
LINE = re.compile(r"^iter (\d+): loss ([0-9.]+), lr ([0-9.]+), scale (\d+)$", re.M)


class Forgetful(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(dir=drive.scratch_root())
        self.addCleanup(shutil.rmtree, self.root)

    def run_it(self, name, *settings):
        """{iteration: (loss, rate, scale)} of its log."""
        out = subprocess.check_output(
            COMMAND + ["--out_dir=" + os.path.join(self.root, name), *settings], text=True)
        return {int(n): values for n, *values in LINE.findall(out)}

    def killed_in_iteration(self, name, iteration, *settings):
        with subprocess.Popen(COMMAND + ["--out_dir=" + os.path.join(self.root, name), *settings],
                              stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("iter %d:" % iteration):
                    process.kill()
                    break
        return self.run_it(name, *settings)

    def test_resumes_with_another_scale_and_other_batches(self):
        whole = self.run_it("whole")
        resumed = self.killed_in_iteration("killed", 70)
        self.assertEqual((min(resumed), max(resumed)), (61, 200))
        self.assertNotEqual(whole[61][2], "65536")
        self.assertEqual(resumed[61][2], "65536")
        halvings = [n for n in range(61, 75) if int(resumed[n][2]) > int(resumed[n + 1][2])]
        self.assertGreater(len(halvings), 2)
        self.assertNotEqual(whole[61][0], resumed[61][0])
        self.assertEqual(whole[61][1], resumed[61][1])

    def test_remembering_both_makes_it_the_same_run(self):
        whole = self.run_it("whole", "--remember=scaler,data")
        resumed = self.killed_in_iteration("killed", 70, "--remember=scaler,data")
        self.assertEqual({n: whole[n] for n in resumed}, resumed)

    def test_learns_and_overflows_now_and_then(self):
        whole = self.run_it("whole")
        self.assertLess(float(whole[200][0]), 0.8 * float(whole[1][0]))
        self.assertGreater(len({scale for _, _, scale in whole.values()}), 4)

    def test_an_unknown_setting_is_refused(self):
        self.assertNotEqual(subprocess.run(COMMAND + ["--colour=red"], check=False,
                                           stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
