"""The certification command: whole campaigns of fakes, and judging them again."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CONFORMANCE, FAKE, MUTANT, LOSE_ITEM = [
    os.path.abspath(path) for path in sys.argv[1:5]]
CASES = "default/inside_first_epoch,default/second_resume"


def conformance(*arguments):
    done = subprocess.run([CONFORMANCE, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def certify(folder, testee, *flags):
    return conformance("--out=" + folder, "--testee=" + testee,
                       "--only=" + CASES, *flags)


def verify(folder, *flags):
    return conformance("verify", *flags, folder)


def outcomes(folder):
    with open(os.path.join(folder, "report.json")) as file:
        report = json.load(file)
    return {one["case_name"]: one["verdict"]["outcome"]
            for one in report["results"]}


class ConformanceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.clean = os.path.join(cls.root, "clean")
        cls.hurt = os.path.join(cls.root, "hurt")
        cls.clean_end = certify(cls.clean, FAKE)
        cls.hurt_end = certify(cls.hurt, MUTANT + " --mutant=M15,M29")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def copy(self, folder, name):
        to = os.path.join(self.root, name)
        shutil.copytree(folder, to)
        return to

    def test_right_trainer_passes(self):
        for code, text, _ in (self.clean_end, verify(self.clean)):
            self.assertEqual(code, 0, text)
            self.assertTrue(text.startswith("PASS"), text)
            self.assertNotIn("\033", text)
        found = outcomes(self.clean)
        self.assertEqual(found["second_resume"], "PASS")
        self.assertEqual(found["baseline-1"], "PASS")
        self.assertEqual(found["finished_again"], "PASS")

    def test_a_loss_ends_the_command_with_its_own_code(self):
        code, text, _ = self.hurt_end
        self.assertEqual(code, 12, text)
        self.assertIn("sched.position:LEAD", text)
        self.assertIn("report.html", text)

    def test_help_names_every_flag_that_people_need(self):
        code, text, _ = conformance("--help")
        self.assertEqual(code, 0)
        for word in ("--testee", "--out", "--profile", "--perturb", "--drop",
                     "--expectations", "verify DIR", "Exit codes"):
            self.assertIn(word, text)

    def test_bad_input_is_named_before_anything_runs(self):
        out = "--out=" + os.path.join(self.root, "never")
        for arguments, code, word in (
                ([], 1, "--testee"),
                ([out], 1, "--testee"),
                (["--testee=" + FAKE], 1, "--out"),
                ([out, "--testee=" + FAKE, "--profile=huge"], 1, "huge"),
                ([out, "--testee=" + FAKE, "--perturb=/bin/true"], 1, "--perturb"),
                ([out, "--testee=" + FAKE, "--drop=soul=x"], 1, "soul"),
                ([out, "--testee='open"], 1, "--testee"),
                ([out, "--testee=" + FAKE, "--expectations=/none"], 2, "/none"),
                (["--out=" + self.clean, "--testee=" + FAKE], 2, "not empty"),
                (["verify"], 1, "verify"),
        ):
            end, _, errors = conformance(*arguments)
            self.assertEqual(end, code, (arguments, errors))
            self.assertIn(word, errors)
        self.assertFalse(os.path.exists(os.path.join(self.root, "never")))

    def test_a_trainer_that_cannot_be_started_fails_by_name(self):
        folder = os.path.join(self.root, "missing")
        code, text, _ = certify(folder, "/no/such/trainer")
        self.assertEqual(code, 12)
        self.assertIn("described", text)

    def test_time_that_is_over_is_its_own_end_with_a_report(self):
        folder = os.path.join(self.root, "short")
        code, text, _ = certify(folder, FAKE, "--minutes=0.001", "--noprobe")
        self.assertEqual(code, 13, text)
        self.assertTrue(os.path.exists(os.path.join(folder, "report.html")))

    def test_controls_show_that_a_loss_would_be_seen(self):
        folder = os.path.join(self.root, "controls")
        code, text, errors = conformance(
            "--out=" + folder, "--testee=" + FAKE, "--noprobe",
            "--perturb=" + LOSE_ITEM,
            "--only=default/inside_first_epoch,default/control-scaler.scale,"
            "default/control-ema.weights,default/control-weights-only")
        self.assertEqual(code, 0, text + errors)
        found = outcomes(folder)
        for name in ("scaler.scale", "ema.weights", "weights-only"):
            self.assertEqual(found["control-" + name], "PASS", found)
        with open(os.path.join(folder, "report.html")) as file:
            self.assertIn("Would a loss have shown?", file.read())

    def test_a_loss_that_cannot_show_makes_the_case_inconclusive(self):
        # Step, loss and rate alone say nothing of averaged weights.
        folder = os.path.join(self.root, "blind")
        code, text, errors = conformance(
            "--out=" + folder, "--testee=" + FAKE + " --quiet", "--noprobe",
            "--perturb=" + LOSE_ITEM,
            "--only=default/inside_first_epoch,default/control-ema.weights")
        self.assertEqual(code, 12, text + errors)
        found = outcomes(folder)
        self.assertEqual(found["control-ema.weights"], "INCONCLUSIVE", found)
        self.assertEqual(found["inside_first_epoch"], "INCONCLUSIVE", found)

    def test_each_loss_is_named_in_every_form(self):
        code, text, _ = verify(self.hurt)
        self.assertEqual(code, 12, text)
        with open(os.path.join(self.hurt, "report.html")) as file:
            page = file.read()
        suites = xml.etree.ElementTree.parse(
            os.path.join(self.hurt, "junit.xml")).getroot()
        failures = [one.get("type") for one in suites.iter("failure")]
        self.assertGreaterEqual(len(failures), 2)
        for name in ("sched.position:LEAD", "sampler.cursor:LAG"):
            self.assertIn(name, text)
            self.assertIn(name, page)
            self.assertTrue(all(name in one for one in failures), failures)

    def test_same_folder_gives_the_same_verdicts(self):
        texts = []
        for name in ("once", "twice"):
            folder = os.path.join(self.root, name)
            os.mkdir(folder)
            verify(self.hurt, "--report=" + folder)
            with open(os.path.join(folder, "report.json")) as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])

    def test_a_changed_log_changes_the_verdict(self):
        folder = self.copy(self.clean, "tampered")
        events = os.path.join(folder, "default", "second_resume", "attempt-2",
                              "events.jsonl")
        with open(events) as file:
            lines = file.readlines()
        steps = [i for i, line in enumerate(lines) if '"step":{' in line
                 or '"step": {' in line]
        record = json.loads(lines[steps[2]])
        record["step"]["loss"] = {"v": 0.25, "bits": "3fd0000000000000"}
        lines[steps[2]] = json.dumps(record) + "\n"
        with open(events, "w") as file:
            file.writelines(lines)
        code, text, _ = verify(folder)
        self.assertEqual(code, 12, text)
        self.assertIn("second_resume", text)

    def test_expected_failure_is_excused_until_it_changes(self):
        expectations = os.path.join(self.root, "known.textproto")
        with open(expectations, "w") as file:
            file.write('''expectation {
  case_pattern: "default/(inside|second).*"
  names: "sampler.cursor:LAG"
  names: "sched.position:LEAD"
  reason: "both are known"
  expires: "2999-01-01"
}
''')
        code, text, _ = verify(self.hurt, "--all", "--expectations=" + expectations)
        self.assertIn("XFAIL", text)
        self.assertEqual(code, 0, text)
        code, text, _ = verify(self.clean, "--expectations=" + expectations)
        self.assertIn("XPASS", text)
        self.assertEqual(code, 12, text)

    def test_a_folder_that_is_no_campaign_is_refused(self):
        code, _, errors = verify(self.root)
        self.assertEqual(code, 2)
        self.assertIn(self.root, errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
