"""The reference testee held and killed at every point of a step, a save and a load."""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

TESTEE = "trainer/testee/testee"
STEP_POINTS = ["P0", "P1", "P2", "P3", "P4", "P5", "P6", "EVALUATION"]
SAVE_POINTS = ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"]
# What stands between two attempts and may differ: names of checkpoints hold the attempt.
STEP_FIELDS = ["ids", "lr", "loss", "scale", "skipped", "grad_norm", "update_norm", "applied", "samples", "rng",
               "parameters"]


class Testee(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(os.environ["TEST_TMPDIR"]) / self.id()
        self.folder.mkdir()
        self.attempts = 0

    def request(self, run, **more):
        self.attempts += 1
        events = self.folder / f"events-{self.attempts}.jsonl"
        path = self.folder / f"request-{self.attempts}.json"
        path.write_text(json.dumps({
            "protocol": "1", "run_folder": str(self.folder / run), "events": str(events), "workload": "mlp",
            "seed": 5, "steps": 40, "save_every": 10, "resume": "AUTO",
            "settings": [{"name": "run.keep_last", "value": "1"}], **more}))
        return [TESTEE, "run", f"--request={path}"], events

    def events(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def steps(self, events):
        return {e["step"]["step"]: {k: e["step"].get(k) for k in STEP_FIELDS} for e in events if "step" in e}

    def run_to_the_end(self, run, **more):
        command, events = self.request(run, **more)
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return self.events(events)

    def hold_and_kill(self, run, step, point, **more):
        more.setdefault("hold_at", [{"step": step, "point": point}])
        command, events = self.request(run, **more)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if events.exists() and '{"held"' in events.read_text():
                break
            time.sleep(0.02)
        held = process.poll() is None
        # A signal that asks for a stop does not wake a held testee.
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL if held else process.returncode)
        self.assertTrue(held, f"{point} was never reached")
        return self.events(events)

    def test_a_kill_at_every_point_leaves_the_run_unchanged(self):
        reference = self.steps(self.run_to_the_end("reference"))
        self.assertEqual(len(reference), 40)
        for point, step in [(p, 20 if p in ("P6", "EVALUATION") else 23) for p in STEP_POINTS] + [
                (p, 20) for p in SAVE_POINTS]:
            with self.subTest(point):
                first = self.hold_and_kill(point, step, point)
                self.assertEqual(first[-1]["held"], {"step": str(step), "point": point})
                second = self.run_to_the_end(point, resume="REQUIRED")
                committed = [e["save"]["step"] for e in first if e.get("save", {}).get("phase") == "COMMITTED"]
                resumed = int(second[0]["start"]["resumed_step"])
                self.assertGreaterEqual(resumed, max(map(int, committed)))
                for events in (first, second):
                    for number, values in self.steps(events).items():
                        self.assertEqual(values, reference[number], f"{point}, step {number}")
                self.assertTrue(second[-1]["end"]["finished"])

    def test_a_kill_between_micro_steps_and_in_a_save_there_leaves_the_run_unchanged(self):
        more = {"accumulation": 4,
                "settings": [{"name": "run.keep_last", "value": "3"}, {"name": "save_at_micro", "value": "2"},
                             {"name": "data.batch_size", "value": "3"}]}
        reference = self.steps(self.run_to_the_end("reference", **more))
        self.assertEqual(len(reference), 40)
        for point, step, micro, resumed in [("P2", 23, 2, (20, 0)), ("P0", 20, 3, (19, 2)), ("S3", 19, 2, (10, 0)),
                                            ("S6", 19, 2, (19, 2)), ("P3", 30, None, (29, 2))]:
            with self.subTest(f"{point} of step {step}, micro-step {micro}"):
                run = f"{point}-{step}-{micro}"
                hold = {"step": step, "point": point}
                if micro is not None:
                    hold["micro"] = micro
                self.hold_and_kill(run, step, point, hold_at=[hold], **more)
                second = self.run_to_the_end(run, resume="REQUIRED", **more)
                start = second[0]["start"]
                self.assertEqual((int(start["resumed_step"]), int(start.get("resumed_micro", 0))), resumed)
                for number, values in self.steps(second).items():
                    self.assertEqual(values, reference[number], f"{run}, step {number}")

    def test_what_is_saved_behind_training_is_the_state_of_its_step(self):
        behind = {"settings": [{"name": "run.keep_last", "value": "3"}, {"name": "save.background", "value": "true"}]}
        reference = self.steps(self.run_to_the_end("reference"))
        for point, step in [("S2", 20), ("S4", 20), ("P1", 24)]:
            with self.subTest(point):
                self.hold_and_kill(point, step, point, **behind)
                for number, values in self.steps(self.run_to_the_end(point, **behind)).items():
                    self.assertEqual(values, reference[number], f"{point}, step {number}")

    def test_averaged_weights_are_evaluated_and_the_best_is_told(self):
        evaluations = [e["evaluation"] for e in self.run_to_the_end("run") if "evaluation" in e]
        self.assertEqual(len(evaluations), 2)
        for evaluation in evaluations:
            self.assertNotEqual(evaluation["loss"]["bits"], evaluation["ema_loss"]["bits"])
            self.assertLessEqual(evaluation["best"]["v"], evaluation["loss"]["v"])

    def test_the_end_names_the_checkpoint_of_the_best_evaluation(self):
        # A rate too high to get better, so that the best evaluation is not the last.
        settings = {"run.keep_last": "9", "run.eval_every": "10", "optimizer.lr": "0.5", "best.metric": "accuracy"}
        events = self.run_to_the_end("run", settings=[{"name": n, "value": v} for n, v in settings.items()])
        best, at = None, None
        for evaluation in [e["evaluation"] for e in events if "evaluation" in e]:
            if best is None or evaluation["best"]["v"] > best:
                best, at = evaluation["best"]["v"], evaluation["step"]
        saved = {e["save"]["step"]: e["save"]["checkpoint"]
                 for e in events if e.get("save", {}).get("phase") == "COMMITTED"}
        self.assertLess(int(at), 40)
        self.assertEqual(events[-1]["end"]["best"], saved[at])
        self.assertEqual(events[-1]["end"]["newest"], saved["40"])

    def test_held_inside_a_load_and_killed_it_goes_on(self):
        reference = self.steps(self.run_to_the_end("reference"))
        self.hold_and_kill("run", 25, "P2")
        self.hold_and_kill("run", 0, "LOAD")
        for number, values in self.steps(self.run_to_the_end("run")).items():
            self.assertEqual(values, reference[number])

    def test_digests_after_load_are_those_at_save(self):
        first = self.hold_and_kill("run", 23, "P3")
        second = self.run_to_the_end("run")

        def digests(events, moment, step):
            return [{d["item"]: d["digest"] for d in e["state"]["digests"]} for e in events
                    if e.get("state", {}).get("moment") == moment and e["state"]["step"] == step][0]

        saved = digests(first, "AT_SAVE", "20")
        self.assertGreater(len(saved), 20)
        self.assertEqual(digests(second, "AFTER_LOAD", "20"), saved)
        self.assertEqual(digests(second, "BEFORE_FORWARD", "20"), saved)

    # Rules: STEP-2 STEP-3
    def test_injected_overflow_is_skipped_and_halves_the_scale(self):
        steps = self.steps(self.run_to_the_end("run", inject_overflow=[30]))
        self.assertTrue(steps["30"]["skipped"])
        self.assertEqual(steps["31"]["scale"]["v"], steps["30"]["scale"]["v"] / 2)
        self.assertEqual(steps["30"]["update_norm"]["v"], 0)
        # The schedule counts applied steps, the cursor every one.
        self.assertEqual(steps["30"]["applied"], steps["29"]["applied"])
        self.assertEqual(steps["31"]["lr"], steps["30"]["lr"])
        self.assertNotEqual(steps["30"]["lr"], steps["29"]["lr"])
        batch = int(steps["29"]["samples"]) - int(steps["28"]["samples"])
        self.assertGreater(batch, 0)
        self.assertEqual(int(steps["30"]["samples"]) - int(steps["29"]["samples"]), batch)
        self.assertNotEqual(steps["30"]["rng"], steps["29"]["rng"])

    def test_what_it_cannot_do_it_says_by_exit_code(self):
        for expected, request in [(10, {"workload": "gpt5"}), (10, {"required_features": ["telepathy"]}),
                                  (10, {"settings": [{"name": "model.telepathy", "value": "1"}]}),
                                  (2, {"settings": [{"name": "run.steps", "value": "many"}]}),
                                  (2, {"resume": "REQUIRED"}),
                                  (0, {"an_unknown_field": 1})]:
            command, _ = self.request(f"empty-{expected}-{len(request)}-{self.attempts}", **request)
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(result.returncode, expected, result.stderr)
        self.assertEqual(subprocess.run([TESTEE, "dance"], capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main()
