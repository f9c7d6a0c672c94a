"""Every mutant differs from the right trainer exactly as MUTANTS.md says, and where."""

import json
import os
import re
import subprocess
import sys
import unittest

from conformance.fake.testing import drive

FAKE = "conformance/fake/fake"
MUTANT = "conformance/fake/mutants/mutant_fake"
PROSE = "conformance/MUTANTS.md"

# Kinds that the list must cover, however it grows (mutants of the first table).
LISTED = ("M01 M02 M03 M04 M06 M07 M08 M10 M12 M13 M15 M18 M20 M21 M22 M24 M26 M27 M29 M30 M32 "
          "M34 M36 M37 M38 M39 M41 M42 M43 M44 M45 M48 M51 M52 M53 M54 M55 M56 M58 M60").split()


def table():
    lines = subprocess.check_output([MUTANT, "--list"], text=True).splitlines()
    return [json.loads(line) for line in lines]


def request(mutant):
    fields = {"workload": mutant["workload"]}
    if mutant["settings"]:
        fields["settings"] = [dict(zip(("name", "value"), setting.split("=")))
                              for setting in mutant["settings"]]
    if mutant["inject_overflow"]:
        fields["inject_overflow"] = mutant["inject_overflow"]
    return fields


def places(mutant):
    micro = (2,) if mutant["shows"] == "mid accumulation" else ()
    return [("P2", step) + micro for step in mutant["kill_steps"]]


class Mutants(unittest.TestCase):
    def test_each_shows_its_signature_and_no_other(self):
        with drive.Bench([FAKE]) as bench:
            for mutant in table():
                with self.subTest(mutant["id"]):
                    bench.command = [FAKE]
                    reference = bench.whole(**request(mutant))
                    bench.command = [MUTANT, "--mutant=" + mutant["id"]]
                    attempts = bench.killed(places(mutant), **request(mutant))
                    self.assertEqual([a.code for a in attempts[:-1]],
                                     [-9] * len(mutant["kill_steps"]))
                    self.assertEqual(drive.signature(reference, attempts),
                                     mutant["signature"])

    def test_the_right_trainer_shows_nothing_in_the_same_places(self):
        seen = set()
        with drive.Bench([FAKE]) as bench:
            for mutant in table():
                key = json.dumps([request(mutant), places(mutant)])
                if key in seen:
                    continue
                seen.add(key)
                with self.subTest(key):
                    reference = bench.whole(**request(mutant))
                    attempts = bench.killed(places(mutant), **request(mutant))
                    self.assertEqual(drive.signature(reference, attempts), "")
                    self.assertEqual(attempts[-1].code, 0)
        self.assertGreater(len(seen), 8)

    def test_no_mutant_shows_before_it_resumes(self):
        with drive.Bench([FAKE]) as bench:
            for mutant in table():
                if mutant["noisy"]:
                    continue
                with self.subTest(mutant["id"]):
                    bench.command = [FAKE]
                    reference = bench.whole(steps=35, **request(mutant))
                    bench.command = [MUTANT, "--mutant=" + mutant["id"]]
                    run = bench.whole(steps=35, **request(mutant))
                    self.assertEqual(run.code, 0)
                    self.assertEqual(run.steps, reference.steps)

    def test_several_at_once_are_all_in(self):
        with drive.Bench([FAKE]) as bench:
            reference = bench.whole(workload="T0")
            bench.command = [MUTANT, "--mutant=M02,M13,M22,M37"]
            attempts = bench.killed([("P2", 63)], workload="T0")
            found = drive.signature(reference, attempts)
        self.assertEqual(found.split(";")[0],
                         "D model.buffers sched.position scaler.growth_tracker rng.cpu")

    def test_the_list_is_whole(self):
        ids = [mutant["id"] for mutant in table()]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual([i for i in LISTED if not any(x.split(".")[0] == i for x in ids)], [])
        self.assertGreater(len([i for i in ids if i.startswith("X")]), 10)

    def test_the_text_has_every_row_of_the_table(self):
        with open(PROSE, encoding="utf-8") as text:
            rows = {row[0]: row for row in re.findall(
                r"^\| (\S+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|", text.read(), re.M)}
        for mutant in table():
            with self.subTest(mutant["id"]):
                row = rows[mutant["id"]]
                self.assertEqual(row[1].strip(), mutant["fault"])
                self.assertEqual(row[2].replace("`", "").strip(), mutant["expected"] or "none")
                self.assertEqual(row[3].strip(), mutant["workload"] + ", " + mutant["shows"])
                self.assertEqual(row[4].strip(), mutant["signature"])

    def test_an_unknown_mutant_is_a_usage_error(self):
        code = subprocess.run([MUTANT, "--mutant=M99", "describe", "--out=/dev/null"],
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(code.returncode, 1)
        self.assertIn(b"M99", code.stderr)

    def test_the_control_says_that_it_is_noisy(self):
        path = os.path.join(os.environ["TEST_TMPDIR"], "description.json")
        subprocess.check_call([MUTANT, "--mutant=M60", "describe", "--out=" + path])
        with open(path, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["determinism"], "ROUNDING")


if __name__ == "__main__":
    sys.exit(unittest.main())
