"""The fake trainer is right: interrupted anywhere and resumed, it is the uninterrupted run."""

import os
import random
import shutil
import signal
import sys
import unittest

from conformance.fake.testing import drive

FAKE = "conformance/fake/fake"
WORKLOADS = ["T0", "T1", "T2", "T3", "T0.sgd", "T0.plateau", "T0.half", "T0.frozen"]
STEP_POINTS = ["P0", "P1", "P2", "P3", "P4", "P5", "P6"]
SAVE_POINTS = ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"]


def setting(**pairs):
    return [{"name": name, "value": str(value)} for name, value in pairs.items()]


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = int(os.environ.get("REPRISE_SEED", random.randrange(1 << 31)))
        print("replay with: bazel test //conformance/fake:resume_test --test_env=REPRISE_SEED=%d"
              % cls.seed)

    def setUp(self):
        self.bench = drive.Bench([FAKE]).__enter__()
        self.addCleanup(self.bench.__exit__)
        self.references = {}

    def reference(self, **request):
        key = repr(sorted(request.items()))
        if key not in self.references:
            self.references[key] = self.bench.whole(**request)
            self.assertEqual(self.references[key].code, 0)
        return self.references[key]

    def assert_same_run(self, attempts, **request):
        """Every record of every attempt is the reference's, and every load its save."""
        reference = self.reference(**request)
        for attempt in attempts:
            self.assertEqual(drive.differences(reference, attempt), [])
            for step, event in attempt.evaluations.items():
                self.assertEqual(event, reference.evaluations[step])
            for state in attempt.of("state"):
                if state["moment"] != "AT_SAVE":
                    continue
                mine = attempt.state("AT_SAVE", int(state["step"]), state.get("micro", 0))
                expected = reference.state("AT_SAVE", int(state["step"]), state.get("micro", 0))
                if expected:  # a save that a signal asked for has no counterpart
                    self.assertEqual(mine, expected)
        for i, attempt in enumerate(attempts[1:], 1):
            self.assertEqual(drive.signature(reference, attempts[: i] + [attempt])
                             .replace("early", ""), "")
        last = attempts[-1]
        self.assertEqual(last.code, 0, last.stderr)
        self.assertTrue(last.end["finished"])
        self.assertEqual(max(last.steps), max(reference.steps))
        names = ("newest", "best")
        for name in names:
            self.assertEqual(last.end[name].split(":")[0], reference.end[name].split(":")[0])

    def test_c27_killed_at_every_point_of_a_step_and_a_save(self):
        for point in STEP_POINTS:
            with self.subTest(point):
                self.assert_same_run(self.bench.killed([(point, 63)], workload="T0"), workload="T0")
        for point in SAVE_POINTS:
            with self.subTest(point):
                attempts = self.bench.killed([(point, 60)], workload="T0")
                # Durable from S5's sync on; the loader takes what verifies, at S5 too.
                self.assertEqual(attempts[1].resumed[0], 50 if point < "S5" else 60)
                self.assert_same_run(attempts, workload="T0")

    def test_c27_killed_inside_an_evaluation_and_inside_a_load(self):
        attempts = self.bench.killed([("EVALUATION", 60), ("LOAD", 0)], workload="T0")
        self.assertEqual(attempts[1].events[0]["held"]["point"], "LOAD")
        del attempts[1]
        self.assertEqual(attempts[1].resumed[0], 50)
        self.assert_same_run(attempts, workload="T0")

    def test_every_bed_twice_in_an_epoch_and_around_its_end(self):
        for workload in WORKLOADS:
            a_quarter = workload == "T1"
            places = [17, 22, 26, 51] if a_quarter else [47, 71, 100, 101, 233]
            with self.subTest(workload):
                attempts = self.bench.killed([("P3", step) for step in places], workload=workload)
                self.assertEqual([a.code for a in attempts[:-1]], [-9] * len(places))
                self.assert_same_run(attempts, workload=workload)

    def test_random_places(self):
        draw = random.Random(self.seed)
        for _ in range(12):
            workload = draw.choice(WORKLOADS)
            steps = 75 if workload == "T1" else 280
            places = sorted(draw.sample(range(1, steps), 3))
            holds = [(draw.choice(STEP_POINTS), step) for step in places]
            with self.subTest(workload=workload, holds=holds, seed=self.seed):
                self.assert_same_run(self.bench.killed(holds, workload=workload),
                                     workload=workload)

    def test_c10_killed_in_the_middle_of_accumulation(self):
        request = {"workload": "T1", "settings": setting(save_at_micro=2)}
        attempts = self.bench.killed([("P2", 40, 2), ("P0", 60, 3)], **request)
        self.assertEqual([a.resumed for a in attempts[1:]], [(39, 2), (59, 2)])
        self.assert_same_run(attempts, **request)

    def test_c02_c07_around_injected_overflows(self):
        request = {"workload": "T3", "inject_overflow": [5, 30, 31]}
        reference = self.reference(**request)
        skipped = [step for step, event in reference.steps.items() if event["skipped"]]
        self.assertEqual(skipped, [5, 30, 31])
        self.assertEqual(int(reference.steps[32]["applied"]), 29)
        self.assertEqual(reference.steps[33]["lr"][0], self.reference(workload="T3").steps[30]["lr"][0])
        self.assert_same_run(self.bench.killed([("P4", 31), ("P3", 33)], **request), **request)

    def test_c04_before_any_applied_step(self):
        request = {"workload": "T0", "inject_overflow": list(range(1, 21))}
        self.assert_same_run(self.bench.killed([("P2", 23)], **request), **request)

    def test_signals_save_within_a_step_and_end_with_13(self):
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"):
            request = {"workload": "T0", "settings": setting(step_delay_us=2000), "steps": 60}
            folder = self.bench.folder()
            first = self.bench.attempt(folder, stop_with=(getattr(signal, name), 25), **request)
            with self.subTest(name):
                self.assertEqual(first.code, 13)
                self.assertFalse(first.end["finished"])
                self.assertEqual(int(first.end["step"]), max(first.steps))
                second = self.bench.attempt(folder, **request)
                self.assertEqual(second.resumed[0], max(first.steps))
                self.assert_same_run([first, second], **request)

    def test_c19_a_signal_during_an_evaluation_leaves_it_pending(self):
        request = {"workload": "T0", "settings": setting(evaluation_delay_us=100000), "steps": 40}
        folder = self.bench.folder()
        first = self.bench.attempt(folder, stop_with=(signal.SIGTERM, 20), **request)
        self.assertEqual(first.code, 13)
        self.assertEqual((max(first.steps), sorted(first.evaluations)), (20, []))
        second = self.bench.attempt(folder, **request)
        self.assertEqual(sorted(second.evaluations), [20, 40])
        reference = self.reference(**request)
        self.assertEqual(second.evaluations, reference.evaluations)
        self.assertEqual(drive.differences(reference, second), [])

    def test_a_moved_folder_resumes(self):
        folder, moved = self.bench.folder(), self.bench.folder() + " é"
        first = self.bench.attempt(folder, hold=("P1", 63), workload="T0")
        shutil.move(folder, moved)
        second = self.bench.attempt(moved, workload="T0")
        self.assertEqual(second.resumed[0], 60)
        self.assert_same_run([first, second], workload="T0")

    def test_a_damaged_newest_checkpoint_is_passed_over_aloud(self):
        folder = self.bench.folder()
        first = self.bench.attempt(folder, hold=("P1", 63), workload="T0")
        self.assertEqual(first.code, -9)
        path = os.path.join(folder, "step-%012d" % 60, "state")
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            file.seek(200)
            byte = file.read(1)[0]
            file.seek(200)
            file.write(bytes([byte ^ 1]))
        second = self.bench.attempt(folder, workload="T0")
        self.assertEqual(second.resumed[0], 50)
        self.assertIn("step-000000000060", second.of("note")[0]["text"])
        self.assertEqual(drive.differences(self.reference(workload="T0"), second), [])
        self.assertEqual(os.listdir(os.path.join(folder, "abandoned", "2")), ["step-000000000060"])

    def test_keeps_three_and_the_best_and_sweeps_leftovers(self):
        folder = self.bench.folder()
        self.bench.attempt(folder, hold=("S8", 233), workload="T0.plateau", save_every=1)
        self.assertTrue([name for name in os.listdir(folder) if name.startswith(".trash-")])
        self.bench.attempt(folder, hold=("S2", 240), workload="T0.plateau", save_every=1)
        self.assertTrue([name for name in os.listdir(folder) if name.startswith(".tmp-")])
        last = self.bench.attempt(folder, workload="T0.plateau", save_every=1)
        names = os.listdir(folder)
        self.assertEqual([n for n in names if n.startswith(".")], [])
        kept = sorted(n for n in names if n.startswith("step-"))
        self.assertEqual(kept[1:], ["step-%012d" % n for n in (278, 279, 280)])
        self.assertEqual(kept[0], last.end["best"].split(":")[0])


if __name__ == "__main__":
    sys.exit(unittest.main())
