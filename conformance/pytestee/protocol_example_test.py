"""The adapter printed in PROTOCOL.md works as it stands, around a loop of a few lines."""

import os
import re
import sys
import unittest

from conformance.fake.testing import drive

PROTOCOL = "conformance/PROTOCOL.md"

# The trainer that the page assumes.
TRAINER = '''
import json, os
class State:
    pass
def fresh(seed):
    state = State()
    state.step, state.w = 0, 1.0 + seed
    return state
def load(folder):
    path = os.path.join(folder, "checkpoint")
    if not os.path.exists(path):
        return None
    state = State()
    state.__dict__.update(json.load(open(path)))
    return state
def train_step(state):
    state.step += 1
    state.w *= 0.9
    return state.w ** 2, 0.1
def save(state, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "checkpoint")
    with open(path + ".tmp", "w") as out:
        json.dump(state.__dict__, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".tmp", path)
    return "step-%d" % state.step
'''


class ProtocolExample(unittest.TestCase):
    def setUp(self):
        with open(PROTOCOL, encoding="utf-8") as text:
            example = re.search(r"```python\n(.*?)```", text.read(), re.S).group(1)
        self.bench = drive.Bench([]).__enter__()
        self.addCleanup(self.bench.__exit__)
        path = os.path.join(self.bench.root, "mine.py")
        with open(path, "w", encoding="utf-8") as out:
            out.write(TRAINER + example)
        self.bench.command = [sys.executable, path]

    def test_runs_resumes_and_refuses(self):
        folder = self.bench.folder()
        first = self.bench.attempt(folder, steps=25, seed="3", save_every=10)
        self.assertEqual((first.code, len(first.steps)), (0, 25), first.stderr)
        again = self.bench.attempt(folder, steps=25, seed="3", resume="REQUIRED")
        self.assertEqual(again.resumed[0], 20)
        self.assertEqual(drive.differences(first, again), [])
        for code, request in [(10, {"workload": "huge"}), (10, {"required_features": ["ema"]}),
                              (10, {"protocol": "2"}), (2, {"resume": "REQUIRED"})]:
            self.assertEqual(self.bench.attempt(self.bench.folder(), **request).code, code)


if __name__ == "__main__":
    sys.exit(unittest.main())
