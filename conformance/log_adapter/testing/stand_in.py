"""What the stand-ins of trainers share: a tiny model without a framework.

The model is one weight that is trained on numbers from a seeded generator; the
state is a JSON file. A run resumed from it is bit-equal to the uninterrupted one.
"""
import json
import math
import os
import random


class Model:
    """All state of a run."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.weight = 5.0
        self.momentum = 0.0
        self.step = 0

    def train_one(self, lr):
        """One step; returns its loss."""
        target = 1.0 + 0.1 * self.random.gauss(0, 1)
        gradient = self.weight - target
        self.momentum = 0.9 * self.momentum + gradient
        self.weight -= lr * self.momentum
        self.step += 1
        return 0.5 * gradient * gradient + 1e-4

    def save(self, path, atomic=True):
        state = {
            "step": self.step,
            "weight": self.weight,
            "momentum": self.momentum,
            "random": self.random.getstate(),
        }
        temporary = path + ".tmp" if atomic else path
        with open(temporary, "w") as out:
            json.dump(state, out)
            out.flush()
            os.fsync(out.fileno())
        if atomic:
            os.rename(temporary, path)

    def load(self, path):
        with open(path) as file:
            state = json.load(file)
        self.step = state["step"]
        self.weight = state["weight"]
        self.momentum = state["momentum"]
        version, internal, gauss = state["random"]
        self.random.setstate((version, tuple(internal), gauss))


def learning_rate(step, steps):
    """Cosine to zero; `step` from 1."""
    return 0.05 * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps))
