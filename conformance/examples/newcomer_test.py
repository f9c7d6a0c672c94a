"""The newcomer's path: the report names what train.py forgets, and train_fixed.py
passes. The README quotes what is shown here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CONFORMANCE, TESTEE = [os.path.abspath(path) for path in sys.argv[1:3]]
README = os.path.join(os.path.dirname(TESTEE), "..", "README.md")


def certify(folder, module, *flags):
    done = subprocess.run(
        [CONFORMANCE, "--out=" + folder, "--profile=quick", *flags,
         "--testee=" + " ".join([sys.executable, TESTEE, module])],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    with open(os.path.join(folder, "report.json")) as file:
        return done.returncode, done.stdout, json.load(file)


class NewcomerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_what_the_trainer_forgets_is_named_and_nothing_else(self):
        # One resume. In a second one that repeats steps of the first, both wrong,
        # where a difference begins depends on when the kills fell.
        code, text, report = certify(os.path.join(self.folder, "out"), "train",
                                     "--only=default/inside_first_epoch")
        self.assertEqual(code, 12, text)
        names = set()
        for one in report["results"]:
            for finding in one["verdict"].get("findings", []):
                names.add(" or ".join(
                    name["item"] + ":" + name["fault"] for name in finding["names"]))
        self.assertEqual(names, {"SAMPLER_CURSOR:FAULT_RESET",
                                 "SCALER_SCALE:FAULT_RESET"}, text)
        with open(README) as file:
            readme = file.read()
        for line in ("sampler.cursor:RESET", "scaler.scale:RESET"):
            self.assertIn(line, text)
            self.assertIn(line, readme)

    def test_the_fix_passes(self):
        code, text, _ = certify(os.path.join(self.folder, "out"), "train_fixed")
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
