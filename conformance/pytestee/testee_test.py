"""The Python testee keeps the protocol and resumes as the uninterrupted run."""

import json
import os
import signal
import subprocess
import sys
import unittest

from conformance.fake.testing import drive

COMMAND = [sys.executable, "conformance/pytestee/testee.py"]


class Testee(unittest.TestCase):
    def setUp(self):
        self.bench = drive.Bench(COMMAND).__enter__()
        self.addCleanup(self.bench.__exit__)

    def description(self):
        path = os.path.join(self.bench.root, "description.json")
        subprocess.check_call(COMMAND + ["describe", "--out=" + path])
        with open(path, encoding="utf-8") as text:
            return json.load(text)

    def test_killed_at_every_point_it_is_the_uninterrupted_run(self):
        reference = self.bench.whole(steps=50)
        self.assertEqual((reference.code, len(reference.steps)), (0, 50))
        for point in self.description()["hold_points"]:
            if point == "LOAD":
                continue
            step = 30 if point.startswith("S") else 27
            with self.subTest(point):
                attempts = self.bench.killed([(point, step)], steps=50)
                self.assertEqual([a.code for a in attempts], [-9, 0])
                self.assertEqual(attempts[1].resumed[0], 30 if point >= "S5" else 20)
                for attempt in attempts:
                    self.assertEqual(drive.differences(reference, attempt), [])
                self.assertEqual(drive.signature(reference, attempts), "")

    def test_resumes_twice_in_an_epoch_at_its_end_and_around_an_overflow(self):
        for workload in ("small", "sgd"):
            request = {"workload": workload, "inject_overflow": [31, 60], "steps": 90}
            reference = self.bench.whole(**request)
            self.assertTrue(reference.steps[60]["skipped"])
            attempts = self.bench.killed(
                [("P2", 12), ("P4", 22), ("P1", 31), ("P0", 51), ("P3", 62)], **request)
            with self.subTest(workload):
                self.assertEqual(drive.signature(reference, attempts), "")
                self.assertEqual(attempts[-1].code, 0)

    def test_overflows_by_itself_and_doubles_again(self):
        run = self.bench.whole(workload="small")
        scales = {step["scale"]["v"] for step in run.steps.values()}
        self.assertGreater(len(scales), 2)
        self.assertTrue(any(step["skipped"] for step in run.steps.values()))
        losses = [step["loss"]["v"] for step in run.steps.values()]
        self.assertLess(sum(losses[-30:]), 0.7 * sum(losses[:30]))

    def test_exit_codes(self):
        folder = self.bench.folder()
        for code, request in [(10, {"workload": "huge"}), (10, {"protocol": "2"}),
                              (10, {"required_features": ["ema"]}), (10, {"accumulation": 4}),
                              (2, {"steps": 0}), (2, {"resume": "REQUIRED"})]:
            with self.subTest(request):
                self.assertEqual(self.bench.attempt(folder, **request).code, code)
        self.assertEqual(self.bench.attempt(folder, steps=5, colour="red").code, 0)
        self.assertEqual(self.bench.attempt(folder, steps=5, resume="NEVER").code, 2)
        again = self.bench.attempt(folder, steps=5)
        self.assertEqual((again.code, again.steps), (0, {}))
        self.assertEqual(self.bench.attempt(folder, steps=5, seed="9").code, 11)

    def test_sigterm_saves_and_ends_with_13(self):
        request = {"steps": 40, "settings": [{"name": "step_delay_us", "value": "5000"}]}
        folder = self.bench.folder()
        first = self.bench.attempt(folder, stop_with=(signal.SIGTERM, 13), **request)
        self.assertEqual(first.code, 13)
        second = self.bench.attempt(folder, **request)
        self.assertEqual(second.resumed[0], max(first.steps))
        self.assertEqual(drive.differences(self.bench.whole(**request), second), [])

    def test_a_damaged_newest_checkpoint_is_passed_over(self):
        folder = self.bench.folder()
        self.bench.attempt(folder, hold=("P0", 35), steps=50)
        path = os.path.join(folder, "step-00000030.json")
        with open(path, "r+", encoding="utf-8") as file:
            file.seek(300)
            file.write("7777")
        self.assertEqual(self.bench.attempt(folder, steps=50).resumed[0], 20)

    def test_declares_what_it_gives(self):
        description = self.description()
        run = self.bench.whole(steps=10)
        for step in run.steps.values():
            self.assertEqual(sorted(step), sorted(description["channels"]))
        self.assertEqual(sorted(run.state("AT_SAVE")), sorted(description["digests"]))

    def test_seeds_decide(self):
        one, same, other = (self.bench.whole(steps=8, seed=seed) for seed in ("1", "1", "2"))
        self.assertEqual(one.steps, same.steps)
        self.assertNotEqual(one.steps[3]["ids"], other.steps[3]["ids"])


if __name__ == "__main__":
    sys.exit(unittest.main())
