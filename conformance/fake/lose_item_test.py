"""A lost item shows, and only it."""

import subprocess
import sys
import unittest

from conformance.fake.testing import drive

FAKE = "conformance/fake/fake"
LOSE = "conformance/fake/lose_item_tool"

# Where an item has a value worth losing, when that is not T0 killed in step 63.
ELSEWHERE = {
    "frozen.flags": ({"workload": "T0.frozen"}, ("P2", 63)),
    "master": ({"workload": "T0.half"}, ("P2", 63)),
    "sched.state": ({"workload": "T0.plateau"}, ("P2", 223)),
    "best": ({"workload": "T0.plateau"}, ("P2", 223)),
    "early_stop": ({"workload": "T0.plateau"}, ("P2", 223)),
    "scaler.scale": ({"settings": [{"name": "overflow_above", "value": "1024"}]}, ("P2", 63)),
    "accum.grads": ({"workload": "T1",
                     "settings": [{"name": "save_at_micro", "value": "2"}]}, ("P2", 40, 2)),
}


class LoseItem(unittest.TestCase):
    def setUp(self):
        self.bench = drive.Bench([FAKE]).__enter__()
        self.addCleanup(self.bench.__exit__)

    def lose(self, folder, item):
        return subprocess.run([LOSE, "--run_folder=" + folder, "--item=" + item],
                              stderr=subprocess.PIPE, text=True, check=False)

    def signature_without(self, item):
        request, place = ELSEWHERE.get(item, ({}, ("P2", 63)))
        reference = self.bench.whole(**request)
        folder = self.bench.folder()
        killed = self.bench.attempt(folder, hold=place, **request)
        self.assertEqual(self.lose(folder, item).returncode, 0)
        resumed = self.bench.attempt(folder, **request)
        self.assertEqual(resumed.code, 0, resumed.stderr)
        self.assertEqual(resumed.resumed, drive.last_acknowledged([killed]))
        return drive.signature(reference, [killed, resumed])

    def test_each_item_differs_after_the_load_and_then_in_the_run(self):
        items = subprocess.check_output([LOSE, "--list"], text=True).split()
        self.assertGreater(len(items), 15)
        for item in items[:-1]:
            with self.subTest(item):
                first, _, rest = self.signature_without(item).partition("; ")
                self.assertEqual(first, "D " + item)
                self.assertNotEqual(rest, "")

    def test_weights_only_loses_the_rest(self):
        first = self.signature_without("weights-only").partition("; ")[0]
        self.assertNotIn("model.params", first)
        for item in ("optim.moments", "rng.cpu", "rng.cuda", "sampler.cursor", "sched.position"):
            self.assertIn(item, first)

    def test_errors(self):
        folder = self.bench.folder()
        self.assertEqual(self.lose(folder, "best").returncode, 2)
        self.assertEqual(self.lose(folder, "nothing.known").returncode, 1)
        self.assertEqual(self.lose(folder, "witness").returncode, 10)


if __name__ == "__main__":
    sys.exit(unittest.main())
