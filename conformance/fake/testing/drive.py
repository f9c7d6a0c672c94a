"""Runs a testee over the protocol, kills it where it is held, and compares runs.

    with Bench([binary]) as bench:
        reference = bench.whole(workload="T0")
        resumed = bench.killed([("P2", 63), ("S5", 120)], workload="T0")
        print(first_differences(reference, resumed))

A test's tool, not the judge: it compares every bit and names nothing.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


def scratch_root():
    """A folder in memory where there is one: thousands of fsyncs cost nothing there."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else os.environ.get("TEST_TMPDIR")


def read_events(path):
    """Complete lines only."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        text = lines.read()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


class Attempt:
    """One process: its exit code (negative: killed by that signal) and its events."""

    def __init__(self, code, events, stderr):
        self.code, self.events, self.stderr = code, events, stderr

    def of(self, kind):
        return [event[kind] for event in self.events if kind in event]

    @property
    def steps(self):
        return {int(step["step"]): step for step in self.of("step")}

    @property
    def evaluations(self):
        return {int(event["step"]): event for event in self.of("evaluation")}

    def state(self, moment, step=None, micro=0):
        """Digests by item at that moment, or None."""
        for event in self.of("state"):
            if event["moment"] != moment:
                continue
            if step is not None and (int(event["step"]), event.get("micro", 0)) != (step, micro):
                continue
            return {digest["item"]: digest["digest"] for digest in event["digests"]}
        return None

    @property
    def start(self):
        return self.of("start")[0]

    @property
    def resumed(self):
        return int(self.start["resumed_step"]), self.start.get("resumed_micro", 0)

    @property
    def end(self):
        ends = self.of("end")
        return ends[0] if ends else None


class Bench:
    def __init__(self, command, environment=None):
        self.command = command
        self.environment = environment
        self.runs = 0

    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix="reprise-", dir=scratch_root())
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.root, ignore_errors=True)

    def folder(self):
        self.runs += 1
        return os.path.join(self.root, "run-%d" % self.runs)

    def attempt(self, folder, hold=None, stop_with=None, command=None, deadline_s=60, **request):
        """Runs the testee once. `hold` is (point, step) or (point, step, micro), where it is
        killed with SIGKILL; `stop_with` is (signal, step): sent once that step was recorded."""
        os.makedirs(self.root, exist_ok=True)
        self.runs += 1
        events = os.path.join(self.root, "events-%d.jsonl" % self.runs)
        message = {"protocol": "1", "run_folder": folder, "events": events}
        message.update(request)
        if hold:
            where = {"point": hold[0], "step": str(hold[1])}
            if len(hold) > 2:
                where["micro"] = hold[2]
            message["hold_at"] = [where]
        path = events + ".request"
        with open(path, "w", encoding="utf-8") as out:
            json.dump(message, out)
        process = subprocess.Popen(
            (command or self.command) + ["run", "--request=" + path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment)
        if hold or stop_with:
            self._wait(process, events, stop_with, deadline_s)
            process.send_signal(stop_with[0] if stop_with else signal.SIGKILL)
        stderr = process.communicate(timeout=deadline_s)[1]
        return Attempt(process.returncode, read_events(events), stderr)

    @staticmethod
    def _wait(process, path, stop_with, deadline_s):
        limit = time.monotonic() + deadline_s
        while process.poll() is None:
            for event in read_events(path):
                if "held" in event and not stop_with:
                    return
                if stop_with and "step" in event and int(event["step"]["step"]) >= stop_with[1]:
                    return
            if time.monotonic() > limit:
                process.kill()
                raise AssertionError("not held within %d s" % deadline_s)
            time.sleep(0.001)

    def whole(self, **request):
        return self.attempt(self.folder(), **request)

    def killed(self, places, **request):
        """Attempts killed at the given places in turn, then one to the end."""
        folder = self.folder()
        attempts = [self.attempt(folder, hold=place, **request) for place in places]
        attempts.append(self.attempt(folder, **request))
        return attempts


# Channel names of MUTANTS.md by the fields of a step event.
CHANNELS = {
    "id_list": "ID", "ids": "ID", "lr": "LR", "scale": "S", "loss": "L", "grad_norm": "G",
    "update_norm": "U", "update_norms": "U", "skipped": "K", "rng": "R", "parameters": "P",
    "applied": "N", "samples": "N", "epoch": "N",
}
ORDER = ["ID", "LR", "S", "R", "L", "G", "K", "U", "P", "N"]


def differing(a, b):
    """Channels in which two step events differ, in the order of a step."""
    found = {CHANNELS[key] for key in set(a) | set(b) if key != "step" and a.get(key) != b.get(key)}
    return [name for name in ORDER if name in found]


def differences(reference, attempt):
    """[(step, channels)] for every step of `attempt` that differs from the reference's."""
    found = []
    for step, event in sorted(attempt.steps.items()):
        other = reference.steps.get(step)
        if other is None:
            found.append((step, ["extra"]))
        elif other != event:
            found.append((step, differing(other, event)))
    return found


def item_text(name):
    """Canonical text of an item by its enum name: "model.params" of "MODEL_PARAMS"."""
    text = name.lower()
    return text if text == "early_stop" else text.replace("_", ".", 1)


def last_acknowledged(attempts):
    """(step, micro) of the newest committed save."""
    commits = [save for attempt in attempts for save in attempt.of("save")
               if save["phase"] == "COMMITTED"]
    if not commits:
        return 0, 0
    newest = max(commits, key=lambda save: (int(save["step"]), save.get("micro", 0)))
    return int(newest["step"]), newest.get("micro", 0)


def mark(attempt):
    """Name of the checkpoint that the end event marks as the best; "" where it marks none."""
    return (attempt.end or {}).get("best", "").split(":")[0]


def signature(reference, attempts):
    """What differs between the uninterrupted run and the last attempt (mutant.h)."""
    before, last = attempts[:-1], attempts[-1]
    parts = []
    committed, resumed = last_acknowledged(before), last.resumed
    if resumed[0] == 0 and committed[0] > 0:
        parts.append("scratch")
    elif abs(resumed[0] - committed[0]) == 1:
        parts.append("label")
    elif resumed[0] < committed[0]:
        parts.append("older")

    def changed(old, new):
        return [item_text(item) for item in new if old.get(item) != new[item]]

    saved = None
    for place in (committed, resumed):  # the second where a save of that label was begun
        for attempt in before:
            saved = attempt.state("AT_SAVE", *place) or saved
    loaded, used = last.state("AFTER_LOAD"), last.state("BEFORE_FORWARD")
    if saved and loaded and changed(saved, loaded):
        parts.append("D " + " ".join(changed(saved, loaded)))
    if loaded and used and changed(loaded, used):
        parts.append("F " + " ".join(changed(loaded, used)))

    steps = [d for d in differences(reference, last) if d[1] != ["extra"]]
    evaluations = [step for step, event in sorted(last.evaluations.items())
                   if step in reference.evaluations and reference.evaluations[step] != event]
    if evaluations and (not steps or evaluations[0] < steps[0][0]):
        parts.append("E")
    if steps:
        parts.append("k+%d %s" % (steps[0][0] - resumed[0], " ".join(steps[0][1])))
    end, planned = max(last.steps), max(reference.steps)
    if end != planned:
        parts.append("late" if end > planned else "early")
    newest = (last.end or {}).get("newest", "")
    name = "step-%012d" % last_acknowledged([last])[0]
    if last.end and newest.split(":")[0] < name:
        parts.append("files")
    if not parts and mark(last) != mark(reference):
        parts.append("mark")
    return "; ".join(parts)
