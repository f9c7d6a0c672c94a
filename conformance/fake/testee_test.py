"""The fake trainer keeps the protocol: requests, exit codes, what it says of itself."""

import json
import os
import subprocess
import sys
import unittest

from conformance.fake.testing import drive

FAKE = "conformance/fake/fake"


class Testee(unittest.TestCase):
    def setUp(self):
        self.bench = drive.Bench([FAKE]).__enter__()
        self.addCleanup(self.bench.__exit__)

    def describe(self, *flags):
        path = os.path.join(self.bench.root, "description.json")
        subprocess.check_call([FAKE, *flags, "describe", "--out=" + path])
        with open(path, encoding="utf-8") as text:
            return json.load(text)

    def test_usage(self):
        for arguments in ([], ["describe"], ["run"], ["fly", "--out=x"], ["run", "--out=x"]):
            code = subprocess.run([FAKE, *arguments], stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(code.returncode, 1, arguments)

    def test_bad_requests_are_2_and_unsupported_ones_10(self):
        self.assertEqual(subprocess.run([FAKE, "run", "--request=/nowhere"], check=False,
                                        stderr=subprocess.DEVNULL).returncode, 2)
        folder = self.bench.folder()
        for code, request in [
                (2, {"steps": 0}), (2, {"settings": [{"name": "dropout", "value": "2"}]}),
                (2, {"run_folder": "relative"}),
                (10, {"workload": "T9"}), (10, {"required_features": ["telepathy"]}),
                (10, {"protocol": "2"}), (10, {"precision": "fp8"}),
                (10, {"settings": [{"name": "colour", "value": "red"}]})]:
            with self.subTest(request):
                run = self.bench.attempt(folder, **request)
                self.assertEqual(run.code, code, run.stderr)
                self.assertFalse(os.path.exists(folder))

    def test_unknown_fields_are_ignored(self):
        run = self.bench.whole(steps=3, colour={"red": [1, 2]})
        self.assertEqual((run.code, len(run.steps)), (0, 3))

    def test_required_resume_needs_a_checkpoint_and_never_needs_none(self):
        folder = self.bench.folder()
        self.assertEqual(self.bench.attempt(folder, steps=3, resume="REQUIRED").code, 2)
        self.assertEqual(self.bench.attempt(folder, steps=3, resume="NEVER").code, 0)
        self.assertEqual(self.bench.attempt(folder, steps=3, resume="NEVER").code, 2)
        again = self.bench.attempt(folder, steps=3, resume="REQUIRED")
        self.assertEqual((again.code, again.resumed[0]), (0, 3))

    def test_c15_another_run_is_refused_by_name(self):
        folder = self.bench.folder()
        self.bench.attempt(folder, hold=("P2", 25), seed="5")
        for name, request in [
                ("seed", {"seed": "6"}), ("steps", {"seed": "5", "steps": 299}),
                ("data.fingerprint", {"seed": "5", "settings": [
                    {"name": "dataset_size", "value": "1010"}]}),
                ("batch", {"seed": "5", "settings": [{"name": "batch", "value": "20"}]})]:
            with self.subTest(name):
                run = self.bench.attempt(folder, **request)
                self.assertEqual(run.code, 11)
                self.assertIn(name + ": the checkpoint has", run.stderr)

    def test_c30_a_second_trainer_is_refused(self):
        folder = self.bench.folder()
        request = {"protocol": "1", "run_folder": folder, "hold_at": [{"point": "P2", "step": 5}],
                   "events": os.path.join(self.bench.root, "held.jsonl")}
        path = os.path.join(self.bench.root, "held.request")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(request, out)
        with subprocess.Popen([FAKE, "run", "--request=" + path],
                              stdout=subprocess.DEVNULL) as process:
            drive.Bench._wait(process, request["events"], None, 30)
            self.assertEqual(self.bench.attempt(folder).code, 2)
            process.kill()
        self.assertEqual(self.bench.attempt(folder).code, 0)

    def test_seeds_decide_everything(self):
        first, same, other = (self.bench.whole(steps=30, seed=seed) for seed in ("1", "1", "2"))
        self.assertEqual(first.steps, same.steps)
        self.assertNotEqual(first.steps[1]["loss"], other.steps[1]["loss"])
        self.assertNotEqual(first.steps[1]["ids"], other.steps[1]["ids"])

    def test_gives_every_channel_and_digest_it_declares(self):
        description = self.describe()
        run = self.bench.whole(workload="T0.half", steps=20)
        for step in run.steps.values():
            self.assertEqual(sorted(set(description["channels"]) - set(step)), [])
        given = set(run.state("AT_SAVE"))
        given |= set(self.bench.whole(workload="T0.plateau", steps=20).state("AT_SAVE"))
        self.assertEqual(sorted(given), sorted(description["digests"]))
        absent = {entry["item"] for entry in description["not_applicable"]}
        self.assertEqual(given & absent, set())

    def test_every_item_is_digested_or_not_applicable(self):
        description = self.describe()
        told = set(description["digests"])
        told |= {entry["item"] for entry in description["not_applicable"]}
        self.assertEqual(len(told), 50)

    def test_the_beds_make_the_state_matter(self):
        run = self.bench.whole(workload="T0")
        skipped = [step for step, event in run.steps.items() if event["skipped"]]
        self.assertGreater(len(skipped), 3)
        norms = [event["grad_norm"]["v"] for event in run.steps.values()
                 if "v" in event["grad_norm"]]
        self.assertTrue(any(n > 1 for n in norms) and any(n < 1 for n in norms))
        rates = [event["lr"][0]["bits"] for event in run.steps.values() if not event["skipped"]]
        self.assertGreater(len(set(rates)), 0.95 * len(rates))
        loss = [event["loss"]["v"] for event in run.steps.values()]
        self.assertLess(sum(loss[-20:]), 0.8 * sum(loss[:20]))
        ids = sorted(int(i) for step in range(1, 101) for i in run.steps[step]["id_list"])
        self.assertEqual(ids, list(range(1000)))
        plateau = self.bench.whole(workload="T0.plateau")
        self.assertGreater(len({e["lr"][0]["bits"] for e in plateau.steps.values()}), 1)
        self.assertLess(max(plateau.steps), 300)  # early stop

    def test_noisy_differs_at_rounding_level_only(self):
        self.assertEqual(self.describe("--noisy")["determinism"], "ROUNDING")
        self.bench.command = [FAKE, "--noisy"]
        first, second = (self.bench.whole(steps=40, workload="T3") for _ in range(2))
        losses = [(first.steps[n]["loss"]["v"], second.steps[n]["loss"]["v"])
                  for n in range(1, 41)]
        self.assertTrue(any(a != b for a, b in losses))
        self.assertLess(max(abs(a - b) for a, b in losses), 1e-4)
        self.assertEqual(first.steps[40]["ids"], second.steps[40]["ids"])

    def test_quiet_gives_loss_rate_and_step(self):
        description = self.describe("--quiet")
        self.assertEqual(description["channels"], ["step", "loss", "lr"])
        self.assertNotIn("digests", description)
        self.bench.command = [FAKE, "--quiet"]
        run = self.bench.whole(steps=20)
        self.assertEqual({key for step in run.steps.values() for key in step},
                         {"step", "loss", "lr"})
        self.assertEqual(run.of("state") + run.of("evaluation"), [])
        self.assertEqual(len(run.of("save")), 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
