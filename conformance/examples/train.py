"""A small training loop of the kind that people write: a character model, momentum
SGD, a cosine rate, and a loss scale that halves on overflow. Standard library only.

    python3 train.py          trains, saves every 10 iterations, resumes when killed

It has the bug that README.md tells of: what it saves is not all that it needs.
"""

import json
import math
import os
import random

TEXT = "the quick brown fox jumps over the lazy dog and then it does so again. " * 12
CHARS = sorted(set(TEXT))
DATA = [CHARS.index(c) for c in TEXT]
V = len(CHARS)
BATCH, BASE_LR, MOMENTUM, WARMUP = 16, 2.0, 0.9, 10
LARGEST_HALF = 65504.0     # of float16: a scaled gradient beyond it overflows
GROWTH_INTERVAL = 15

# What a checkpoint holds, by name in the trainer's state.
SAVED = ["iteration", "weights", "momentum"]


class Trainer:
    def __init__(self, seed=1, iterations=120):
        self.seed, self.iterations = seed, iterations
        rng = random.Random(seed)
        self.iteration = 0
        self.weights = [[rng.gauss(0, 0.1) for _ in range(V)] for _ in range(V)]
        self.momentum = [[0.0] * V for _ in range(V)]
        self.scale, self.good_steps = 2.0 ** 22, 0
        self.epoch, self.position = 0, 0

    # ---- data: each epoch visits every sample once, in an order of its own

    def next_batch(self):
        order = list(range(len(DATA) - 1))
        random.Random(self.seed * 1000 + self.epoch).shuffle(order)
        ids = order[self.position:self.position + BATCH]
        self.position += BATCH
        if self.position + BATCH > len(order):
            self.epoch, self.position = self.epoch + 1, 0
        return ids

    def rate(self):
        if self.iteration < WARMUP:
            return BASE_LR * (self.iteration + 1) / WARMUP
        done = (self.iteration - WARMUP) / max(1, self.iterations - WARMUP)
        return BASE_LR * 0.5 * (1 + math.cos(math.pi * done))

    def step(self):
        """One iteration; returns what a log would print."""
        ids, rate, scale = self.next_batch(), self.rate(), self.scale
        loss, gradient = 0.0, [[0.0] * V for _ in range(V)]
        for i in ids:
            row = self.weights[DATA[i]]
            top = max(row)
            exps = [math.exp(w - top) for w in row]
            total = sum(exps)
            loss -= math.log(exps[DATA[i + 1]] / total) / len(ids)
            for j in range(V):
                error = exps[j] / total - (1.0 if j == DATA[i + 1] else 0.0)
                gradient[DATA[i]][j] += scale * error / len(ids)
        skipped = any(abs(g) > LARGEST_HALF for row in gradient for g in row)
        if skipped:
            self.scale, self.good_steps = self.scale / 2, 0
        else:
            for w, m, g in zip(self.weights, self.momentum, gradient):
                for j in range(V):
                    m[j] = MOMENTUM * m[j] + g[j] / scale
                    w[j] -= rate * m[j]
            self.good_steps += 1
            if self.good_steps == GROWTH_INTERVAL:
                self.scale, self.good_steps = self.scale * 2, 0
        self.iteration += 1
        return {"ids": ids, "lr": rate, "loss": loss, "scale": scale, "skipped": skipped}

    # ---- checkpoints

    def save(self, folder):
        os.makedirs(folder, exist_ok=True)
        state = {name: getattr(self, name) for name in SAVED}
        path = os.path.join(folder, "ckpt.json")
        with open(path + ".tmp", "w") as file:
            json.dump(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".tmp", path)
        place = os.open(folder, os.O_RDONLY)
        os.fsync(place)
        os.close(place)

    def load(self, folder):
        """False when there is nothing to load."""
        try:
            with open(os.path.join(folder, "ckpt.json")) as file:
                state = json.load(file)
        except FileNotFoundError:
            return False
        for name, value in state.items():
            setattr(self, name, value)
        return True


def main(folder="out"):
    trainer = Trainer()
    trainer.load(folder)
    while trainer.iteration < trainer.iterations:
        log = trainer.step()
        if trainer.iteration % 10 == 0:
            print(f"iter {trainer.iteration}: loss {log['loss']:.4f}, lr {log['lr']:.4f}")
            trainer.save(folder)


if __name__ == "__main__":
    main()
