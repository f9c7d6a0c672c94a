"""Says how many tests passed and failed, from Bazel's build event file.

  result.py --events=FILE --bazel_exit=N [OTHER_FAILURE ...]

Prints what failed, one a line, then `N passed, N failed`; exits with 0 only when
nothing failed and at least one test passed. What counts:

  passed   a test whose summary says PASSED
  failed   a test whose summary says anything else; a target that could not be
           built; each OTHER_FAILURE; and Bazel itself, when it ended with an error
           or without an end although all that is fine, or when no test ran
"""

import argparse
import json
import sys


class Result:
    """passed: set of labels; failed: dict of label or text -> reason."""

    def __init__(self):
        self.passed = set()
        self.failed = {}

    def add_event(self, event):
        name, identity = next(iter(event["id"].items()))
        if name == "testSummary":
            status = event.get("testSummary", {}).get("overallStatus", "NO_STATUS")
            if status == "PASSED":
                self.passed.add(identity["label"])
            else:
                self.failed[identity["label"]] = status
        elif name == "targetCompleted":
            if not event.get("completed", {}).get("success"):
                self.failed.setdefault(identity["label"], "not built")

    def close(self, bazel_exit, finished_exit, others):
        """`finished_exit` is the exit code in the events; None without one."""
        for other in others:
            self.failed[other] = ""
        if not self.failed:
            if bazel_exit != 0 or finished_exit != 0:
                self.failed["bazel"] = (
                    f"ended with {bazel_exit}, its event file says {finished_exit}")
            elif not self.passed:
                self.failed["bazel"] = "ran no test"
        self.passed -= self.failed.keys()


def read(path, bazel_exit, others):
    result = Result()
    finished_exit = None
    try:
        with open(path, encoding="utf-8") as events:
            for line in events:
                event = json.loads(line)
                result.add_event(event)
                if "finished" in event:
                    finished_exit = event["finished"].get("exitCode", {}).get("code", 0)
    except FileNotFoundError:
        pass  # Bazel did not even start; close() says so.
    except ValueError as error:
        others = list(others) + [f"the event file is cut: {error}"]
    result.close(bazel_exit, finished_exit, others)
    return result


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", required=True)
    parser.add_argument("--bazel_exit", type=int, required=True)
    parser.add_argument("others", nargs="*")
    options = parser.parse_args(arguments)
    result = read(options.events, options.bazel_exit, options.others)
    for name in sorted(result.failed):
        reason = result.failed[name]
        print(f"FAILED {name}" + (f": {reason}" if reason else ""))
    print(f"{len(result.passed)} passed, {len(result.failed)} failed")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
