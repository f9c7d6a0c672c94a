"""Tests of result.py with events as Bazel 4.2.3 writes them (fields not read left out)."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import result


def configured(label, **fields):
    return {"id": {"targetConfigured": {"label": label}}, "configured": fields}


def completed(label, success=True):
    payload = {"success": True} if success else {"failureDetail": {"message": "bash failed"}}
    return {"id": {"targetCompleted": {"label": label, "configuration": {"id": "0c75"}}},
            "completed": payload}


def not_analysed(label):
    return {"id": {"targetCompleted": {"label": label, "configuration": {"id": "0c75"}}},
            "aborted": {"reason": "ANALYSIS_FAILURE"}}


def summary(label, status):
    return {"id": {"testSummary": {"label": label, "configuration": {"id": "0c75"}}},
            "testSummary": {"totalRunCount": 1, "overallStatus": status}}


def finished(name, code):
    exit_code = {"name": name, "code": code} if code else {"name": name}
    return {"id": {"buildFinished": {}}, "finished": {"exitCode": exit_code}}


STARTED = {"id": {"started": {}}, "started": {"uuid": "b0ff"}}
PROGRESS = {"id": {"progress": {"opaqueCount": 1}}, "progress": {"stderr": "1 failed"}}


class ResultTest(unittest.TestCase):

    def run_on(self, events, bazel_exit, *others, cut=0):
        text = "".join(json.dumps(event) + "\n" for event in events)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "events.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:len(text) - cut])
            return self.run_main(path, bazel_exit, *others)

    def run_main(self, path, bazel_exit, *others):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = result.main([f"--events={path}", f"--bazel_exit={bazel_exit}", *others])
        return code, out.getvalue().splitlines()

    def test_all_passed(self):
        code, lines = self.run_on([
            STARTED, PROGRESS,
            configured("//a:t", targetKind="cc_test rule", testSize="SMALL"),
            completed("//a:lib"), completed("//a:t"), completed("//b:t"),
            summary("//a:t", "PASSED"), summary("//b:t", "PASSED"),
            finished("SUCCESS", 0),
        ], 0)
        self.assertEqual((code, lines), (0, ["2 passed, 0 failed"]))

    def test_test_left_out_by_its_tag_is_neither(self):
        code, lines = self.run_on([
            configured("//a:soak", targetKind="cc_test rule", testSize="LARGE", tag=["soak"]),
            completed("//a:soak"), completed("//a:t"), summary("//a:t", "PASSED"),
            finished("SUCCESS", 0),
        ], 0)
        self.assertEqual((code, lines), (0, ["1 passed, 0 failed"]))

    def test_every_other_status_is_a_failure(self):
        for status in ("FAILED", "TIMEOUT", "FLAKY", "INCOMPLETE", "NO_STATUS", "REMOTE_FAILURE"):
            with self.subTest(status=status):
                code, lines = self.run_on([
                    completed("//a:t"), completed("//b:t"), summary("//a:t", "PASSED"),
                    summary("//b:t", status), finished("TESTS_FAILED", 3),
                ], 3)
                self.assertEqual((code, lines),
                                 (1, [f"FAILED //b:t: {status}", "1 passed, 1 failed"]))

    def test_target_that_was_not_built_is_a_failure(self):
        code, lines = self.run_on([
            not_analysed("//a:noanalysis"), completed("//a:nobuild", success=False),
            completed("//a:lib", success=False), completed("//a:t"), summary("//a:t", "PASSED"),
            summary("//a:nobuild", "NO_STATUS"), finished("BUILD_FAILURE", 1),
        ], 1)
        self.assertEqual((code, lines), (1, [
            "FAILED //a:lib: not built",
            "FAILED //a:noanalysis: not built",
            "FAILED //a:nobuild: NO_STATUS",
            "1 passed, 3 failed",
        ]))

    def test_label_that_passed_in_one_configuration_only_is_a_failure(self):
        code, lines = self.run_on([
            summary("//a:t", "PASSED"), summary("//a:t", "FAILED"), finished("TESTS_FAILED", 3),
        ], 3)
        self.assertEqual((code, lines), (1, ["FAILED //a:t: FAILED", "0 passed, 1 failed"]))

    def test_bazel_that_failed_otherwise_is_a_failure(self):
        for bazel_exit, last in ((8, [finished("INTERRUPTED", 8)]), (37, []), (0, [])):
            with self.subTest(bazel_exit=bazel_exit):
                code, lines = self.run_on([summary("//a:t", "PASSED")] + last, bazel_exit)
                self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))
                self.assertIn(f"ended with {bazel_exit}", lines[0])

    def test_no_tests_is_a_failure(self):
        code, lines = self.run_on([completed("//a:lib"), finished("SUCCESS", 0)], 0)
        self.assertEqual((code, lines), (1, ["FAILED bazel: ran no test", "0 passed, 1 failed"]))

    def test_missing_event_file_is_a_failure(self):
        code, lines = self.run_main("/nonexistent/events.json", 1)
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))

    def test_cut_event_file_is_a_failure(self):
        code, lines = self.run_on(
            [summary("//a:t", "PASSED"), finished("SUCCESS", 0)], 0, cut=10)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("cut", lines[0])

    def test_other_failures_count_and_are_printed(self):
        code, lines = self.run_on(
            [summary("//a:t", "PASSED"), finished("SUCCESS", 0)], 0, "formatting: a.cc b.h")
        self.assertEqual((code, lines),
                         (1, ["FAILED formatting: a.cc b.h", "1 passed, 1 failed"]))


if __name__ == "__main__":
    unittest.main()
