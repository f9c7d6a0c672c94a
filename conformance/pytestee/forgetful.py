#!/usr/bin/env python3
"""A small language model trained in the way of many small training scripts: one file, one loop,
settings as --name=value, one line of log per iteration, one checkpoint that is overwritten.

    python3 forgetful.py --out_dir=/tmp/run --max_iters=200

It knows nothing of any harness. It also has the two omissions that such scripts most often have:
the checkpoint holds model, optimizer and iteration, but neither the loss scaler nor the place in
the data. A resumed run therefore skips iterations while its scale comes down again, and trains on
batches that it has seen. --remember=scaler,data saves both.

Its log:

    iter 10: loss 2.3456, lr 0.000300, scale 1024
    step 20: val loss 2.2222
    saving checkpoint to /tmp/run
"""

import json
import math
import os
import random
import sys
import time

# -- settings, each may be given as --name=value
out_dir = "out"
max_iters = 200
eval_interval = 20          # a checkpoint at every evaluation
seed = 1337
batch_size = 24
block_size = 8
learning_rate = 3e-2
min_lr = 3e-3
warmup_iters = 10
grad_clip = 1.0
init_scale = 65536.0
growth_interval = 50
delay_ms = 0
remember = ""               # what else to save: "scaler", "data" or both

for argument in sys.argv[1:]:
    key, _, text = argument.lstrip("-").partition("=")
    if key not in globals() or not isinstance(globals()[key], (int, float, str)):
        sys.exit("unknown setting %s\n%s" % (argument, __doc__))
    globals()[key] = type(globals()[key])(text)

VOCABULARY = 16
HALF_MAX = 65504.0


def make_text(length, state):
    """Tokens with some structure: mostly a fixed successor, sometimes any."""
    tokens, token = [], 0
    for _ in range(length):
        token = (5 * token + 3) % VOCABULARY if state.random() < 0.7 else state.randrange(VOCABULARY)
        tokens.append(token)
    return tokens


data_maker = random.Random(42)
train_data, val_data = make_text(4000, data_maker), make_text(400, data_maker)


def softmax(row):
    top = max(row)
    powers = [math.exp(x - top) for x in row]
    total = sum(powers)
    return [p / total for p in powers]


def get_batch(batches):
    starts = [batches.randrange(len(train_data) - block_size - 1) for _ in range(batch_size)]
    return [(train_data[s + i], train_data[s + i + 1]) for s in starts for i in range(block_size)]


def loss_of(model, pairs):
    return -sum(math.log(softmax(model[a])[b]) for a, b in pairs) / len(pairs)


def forward_backward(model, pairs, scale):
    """Gradients of scale * sum of losses, in half precision's range; and the mean loss."""
    gradients = [[0.0] * VOCABULARY for _ in range(VOCABULARY)]
    loss = 0.0
    rows = [softmax(row) for row in model]
    for a, b in pairs:
        loss -= math.log(rows[a][b]) / len(pairs)
        for c in range(VOCABULARY):
            gradients[a][c] += scale * (rows[a][c] - (c == b))
    for row in gradients:
        for c, g in enumerate(row):
            if abs(g) > HALF_MAX:
                row[c] = math.inf
    return loss, gradients


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / warmup_iters
    ratio = (it - warmup_iters) / max(1, max_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * min(1.0, ratio))) * (learning_rate - min_lr)


def adam_step(model, gradients, optimizer, lr):
    optimizer["step"] += 1
    t = optimizer["step"]
    for r in range(VOCABULARY):
        for c in range(VOCABULARY):
            g = gradients[r][c]
            m = optimizer["m"][r][c] = 0.9 * optimizer["m"][r][c] + 0.1 * g
            v = optimizer["v"][r][c] = 0.95 * optimizer["v"][r][c] + 0.05 * g * g
            model[r][c] -= lr * (m / (1 - 0.9 ** t)) / (math.sqrt(v / (1 - 0.95 ** t)) + 1e-8)


# -- a new run, or the one in out_dir
batches = random.Random(seed)
model = [[0.02 * batches.gauss(0, 1) for _ in range(VOCABULARY)] for _ in range(VOCABULARY)]
optimizer = {"step": 0, "m": [[0.0] * VOCABULARY for _ in range(VOCABULARY)],
             "v": [[0.0] * VOCABULARY for _ in range(VOCABULARY)]}
scaler = {"scale": init_scale, "tracker": 0}
iter_num = 0

checkpoint_path = os.path.join(out_dir, "ckpt.json")
os.makedirs(out_dir, exist_ok=True)
if os.path.exists(checkpoint_path):
    with open(checkpoint_path, encoding="utf-8") as file:
        checkpoint = json.load(file)
    model, optimizer, iter_num = (checkpoint[k] for k in ("model", "optimizer", "iter_num"))
    if "scaler" in checkpoint:
        scaler = checkpoint["scaler"]
    if "data" in checkpoint:
        version, words, gauss = checkpoint["data"]
        batches.setstate((version, tuple(words), gauss))
    print("Resuming training from %s at iter %d" % (out_dir, iter_num), flush=True)
else:
    print("Initializing a new model from scratch", flush=True)


def save_checkpoint():
    state = {"model": model, "optimizer": optimizer, "iter_num": iter_num}
    if "scaler" in remember:
        state["scaler"] = scaler
    if "data" in remember:
        state["data"] = batches.getstate()
    with open(checkpoint_path + ".tmp", "w", encoding="utf-8") as out:
        json.dump(state, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(checkpoint_path + ".tmp", checkpoint_path)


while iter_num < max_iters:
    time.sleep(delay_ms / 1000)
    lr = get_lr(iter_num)
    pairs = get_batch(batches)
    scale = scaler["scale"]
    loss, gradients = forward_backward(model, pairs, scale)
    if any(math.isinf(g) for row in gradients for g in row):
        scaler = {"scale": scale / 2, "tracker": 0}
    else:
        gradients = [[g / scale / len(pairs) for g in row] for row in gradients]
        norm = math.sqrt(sum(g * g for row in gradients for g in row))
        if norm > grad_clip:
            gradients = [[g * grad_clip / norm for g in row] for row in gradients]
        adam_step(model, gradients, optimizer, lr)
        scaler["tracker"] += 1
        if scaler["tracker"] == growth_interval:
            scaler = {"scale": scale * 2, "tracker": 0}
    iter_num += 1
    print("iter %d: loss %.4f, lr %.6f, scale %d" % (iter_num, loss, lr, scale), flush=True)
    if iter_num % eval_interval == 0:
        pairs = list(zip(val_data, val_data[1:]))
        print("step %d: val loss %.4f" % (iter_num, loss_of(model, pairs)), flush=True)
        save_checkpoint()
        print("saving checkpoint to %s" % out_dir, flush=True)
