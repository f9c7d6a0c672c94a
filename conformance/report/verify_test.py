"""A whole campaign, judged again from its folder: pass, failure, damage."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CAMPAIGN, VERIFY, FAKE, MUTANT = [os.path.abspath(path) for path in sys.argv[1:5]]
CASES = "default/inside_first_epoch,default/second_resume"


def run_campaign(folder, testee):
    subprocess.run(
        [CAMPAIGN, "--out=" + folder, "--testee=" + testee, "--only=" + CASES],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def verify(folder, *flags):
    done = subprocess.run([VERIFY, *flags, folder], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


class VerifyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.clean = os.path.join(cls.root, "clean")
        cls.hurt = os.path.join(cls.root, "hurt")
        run_campaign(cls.clean, FAKE)
        run_campaign(cls.hurt, MUTANT + " --mutant=M15,M29")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def copy(self, folder, name):
        to = os.path.join(self.root, name)
        shutil.copytree(folder, to)
        return to

    def test_right_trainer_passes(self):
        code, text, _ = verify(self.clean)
        self.assertEqual(code, 0, text)
        self.assertTrue(text.startswith("PASS"), text)
        self.assertNotIn("\033", text)
        with open(os.path.join(self.clean, "report.json")) as file:
            report = json.load(file)
        outcomes = {one["case_name"]: one["verdict"]["outcome"]
                    for one in report["results"]}
        self.assertEqual(outcomes["second_resume"], "PASS")
        self.assertEqual(outcomes["baseline-1"], "PASS")

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
