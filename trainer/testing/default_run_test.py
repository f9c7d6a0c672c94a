"""The default run, whole: real images, mixed precision, the accuracy that the README promises."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

TRAINER = "trainer/trainer"


class DefaultRun(unittest.TestCase):
    def test_reaches_the_accuracy_in_fp16_with_a_scaler_that_works(self):
        folder = pathlib.Path(os.environ["TEST_TMPDIR"]) / "run"
        start = time.monotonic()
        result = subprocess.run([TRAINER, f"--run_dir={folder}", "--threads=1"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        sys.stdout.write(result.stdout)
        print(f"{time.monotonic() - start:.0f} s with one thread")
        self.assertEqual(result.returncode, 0)
        events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        steps = [event for event in events if event["type"] == "step"]
        self.assertEqual([event["step"] for event in steps], list(range(1, 1873)))
        last = [event for event in events if event["type"] == "eval"][-1]
        self.assertEqual(last["step"], 1872)
        self.assertEqual(last["samples"], 10000)
        self.assertGreaterEqual(last["accuracy"]["v"], 0.89)
        # The scale of 65536 is too large on purpose: some steps overflow by
        # themselves, and the run recovers by the scaler alone.
        self.assertGreater(sum(event["skipped"] for event in steps), 0)
        self.assertGreater(len({event["scale"]["bits"] for event in steps}), 1)
        # Three checkpoints are kept, the last of them of the last step.
        self.assertEqual(sorted(p.name for p in folder.glob("step-*")),
                         ["step-000000001700", "step-000000001800", "step-000000001872"])


if __name__ == "__main__":
    unittest.main()
