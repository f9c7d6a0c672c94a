"""The lines that a run ends with, as a person sees them: on terminals of several widths and in a file."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import unittest

TRAINER = os.path.abspath("trainer/trainer")
FLAGS = ["--precision=fp16", "--steps=60", "--save_every=10", "--keep=100", "--threads=1", "--seed=7",
         "--set=model.kind=mlp", "--set=model.hidden=32", "--set=data.name=synthetic", "--set=data.train_limit=640",
         "--set=data.test_limit=100", "--set=data.batch_size=32", "--set=schedule.warmup=5",
         "--set=run.eval_every=20", "--set=precision.growth_interval=5", "--set=precision.init_scale=16777216"]


def on_terminal(columns, arguments):
    """Exit code, and the rows of a terminal of that width once the program has ended."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(TRAINER, [TRAINER] + arguments)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    rows, column = [""], 0
    for character in text.decode():
        if character == "\r":
            column = 0
        elif character == "\n":
            rows.append("")
            column = 0
        else:
            row = rows[-1].ljust(column)
            rows[-1] = row[:column] + character + row[column + 1:]
            column += 1
    return os.WEXITSTATUS(status), [row.rstrip() for row in rows]


def in_a_file(arguments):
    result = subprocess.run([TRAINER] + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout.split("\n")


def summary(rows, headline):
    """The rows from the headline on; durations, which nobody can know, are T."""
    at = rows.index(headline)
    return [re.sub(r"\d+:\d\d in", "T in", row) for row in rows[at:]]


class LastLines(unittest.TestCase):
    def setUp(self):
        # Short, so that it fits in a row.
        self.folder = pathlib.Path(os.environ["TEST_TMPDIR"]) / "run" / self._testMethodName
        self.run_dir = f"--run_dir={self.folder}"

    def rows_of_the_folder(self, checkpoints, newest):
        return [f"  run folder   {self.folder}",
                f"  checkpoints  {checkpoints}, the newest {newest}",
                "  records      metrics.jsonl",
                "  loss curve   loss.svg"]

    def test_resumed_run_that_is_finished_counts_from_its_first_step(self):
        code, _ = in_a_file([self.run_dir, *FLAGS, "--max_seconds=1e-9"])
        self.assertEqual(code, 13)
        code, rows = in_a_file([self.run_dir, "--max_seconds=0"])
        self.assertEqual(code, 0)
        found = summary(rows, "Finished: 60 of 60 steps")
        self.assertRegex(found[3], r"^  evaluation   step 60: accuracy \d+\.\d\d %, loss \d\.\d+$")
        accuracy = re.search(r"accuracy \S+ %", found[3]).group()
        self.assertEqual(found[:3] + found[4:], [
            "Finished: 60 of 60 steps",
            "  steps        60: 46 applied, 14 skipped by overflow",
            "  attempts     2, resumed once, the last time from step 1",
            f"  best         {accuracy} at step 60, step-000000000060",
            "  time         T in this attempt, 59 steps",
            *self.rows_of_the_folder(7, "step-000000000060"),
            ""])
        # And when it is started again: no attempt, no time.
        code, rows = in_a_file([self.run_dir])
        self.assertEqual(code, 0)
        again = summary(rows, "The run is finished: 60 of 60 steps. Nothing to do (--fresh starts again).")
        self.assertEqual(again[1:], [found[1], found[3], found[4], *found[6:]])

    def test_stopped_run_says_what_to_type_and_that_goes_on(self):
        code, rows = in_a_file([self.run_dir, *FLAGS, "--max_seconds=1e-9"])
        self.assertEqual(code, 13)
        self.assertEqual(summary(rows, "Stopped by run.max_seconds at step 1 of 60"), [
            "Stopped by run.max_seconds at step 1 of 60",
            "  steps        1: 0 applied, 1 skipped by overflow",
            "  attempts     1, from the start",
            "  evaluation   none yet",
            "  best         none yet",
            "  time         T in this attempt, 1 step",
            *self.rows_of_the_folder(1, "step-000000000001"),
            f"  go on with   {TRAINER} {self.run_dir}",
            ""])
        command = rows[-2].replace("  go on with   ", "")
        again = subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True)
        self.assertEqual(again.returncode, 13)
        self.assertIn("Stopped by run.max_seconds at step 2 of 60\n", again.stdout)
        self.assertIn("  attempts     2, resumed once, the last time from step 1\n", again.stdout)

    def test_run_that_stops_early_says_so(self):
        code, rows = in_a_file([self.run_dir, *FLAGS, "--set=run.eval_every=5", "--set=best.patience=2",
                                "--set=best.min_delta=0.9"])
        self.assertEqual(code, 0)
        found = summary(rows, "Finished early: 15 of 60 steps, evaluations no longer improve")
        self.assertRegex(found[1], "^  steps        15: [0-9]+ applied, [0-9]+ skipped by overflow$")
        self.assertRegex(found[4], r"^  best         accuracy \S+ % at step \d+, "
                         r"(step-0+1?[05]|of which there is no checkpoint)$")

    def test_fresh_start_is_not_a_resume(self):
        in_a_file([self.run_dir, *FLAGS, "--max_seconds=1e-9"])
        for _ in range(2):
            _, rows = in_a_file([self.run_dir, *FLAGS, "--max_seconds=1e-9", "--fresh"])
        self.assertIn("  attempts     2, from the start", rows)
        _, rows = in_a_file([self.run_dir])
        self.assertIn("  attempts     3, resumed once, the last time from step 1", rows)

    def test_terminal_shows_the_same_words_in_its_width(self):
        for columns in (60, 80, 200):
            folder = f"/tmp/r{os.getpid()}-{columns}"
            code, rows = on_terminal(columns, [f"--run_dir={folder}", *FLAGS, "--max_seconds=1e-9"])
            self.assertEqual(code, 13)
            code, rows = on_terminal(columns, [f"--run_dir={folder}", "--max_seconds=0"])
            self.assertEqual(code, 0)
            subprocess.run(["rm", "-r", folder], check=True)
            for row in rows:
                self.assertLessEqual(len(row), columns)
            # The bar stands in the row above, drawn to the end.
            at = rows.index("Finished: 60 of 60 steps")
            self.assertRegex(rows[at - 1], r"^\[=+\] 60/60  ")
            words = " ".join(" ".join(rows[at:]).split())
            self.assertRegex(words, r"best accuracy \S+ % at step 60, step-000000000060 time ")
            # So is the table of what was restored above it.
            table = " ".join(" ".join(rows).split())
            self.assertIn("sched.definition SAVED warmup-cosine-v1, warm-up 5, final fraction 0.01 ", table)
            self.assertIn("Resume level BITWISE: ", table)


if __name__ == "__main__":
    unittest.main()
