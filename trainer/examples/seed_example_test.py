"""Runs the seed example as a person would and compares the losses' bits."""

import os
import pathlib
import subprocess
import sys
import unittest

PROGRAM = "trainer/examples/seed_example"
STEPS, CHECKPOINT_AT = 10, 5


class SeedExample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(os.environ["TEST_TMPDIR"]) / "seed example"
        cls.folder.mkdir()
        result = subprocess.run(
            [PROGRAM, "--batch=2", f"--steps={STEPS}", f"--checkpoint_at={CHECKPOINT_AT}", f"--folder={cls.folder}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        sys.stdout.write(result.stdout)
        assert result.returncode == 0, result.returncode

    def losses(self, run):
        data = (self.folder / f"losses.{run}.f32").read_bytes()
        return [data[i:i + 4] for i in range(0, len(data), 4)]

    def test_everything_restored_in_a_new_process_repeats_every_bit(self):
        reference = self.losses("reference")
        self.assertEqual(len(reference), STEPS)
        self.assertEqual(self.losses("none"), reference[CHECKPOINT_AT:])

    def test_each_state_left_out_changes_the_losses(self):
        reference = self.losses("reference")[CHECKPOINT_AT:]
        for left_out in ("schedule", "scaler", "optimizer", "sampler"):
            with self.subTest(left_out):
                resumed = self.losses(left_out)
                self.assertEqual(len(resumed), len(reference))
                self.assertNotEqual(resumed, reference)

    def test_a_lost_optimizer_or_schedule_shows_only_after_the_first_step(self):
        # The loss of the first resumed step is computed before its update.
        reference = self.losses("reference")[CHECKPOINT_AT:]
        for left_out in ("schedule", "optimizer"):
            self.assertEqual(self.losses(left_out)[0], reference[0])
        self.assertNotEqual(self.losses("sampler")[0], reference[0])

    def test_flags_out_of_range_are_refused(self):
        result = subprocess.run([PROGRAM, "--steps=1"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--steps", result.stderr)


if __name__ == "__main__":
    unittest.main()
