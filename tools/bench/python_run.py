"""A run of the reference trainer, written in Python: what step_time measures against.

The same model, batch, optimizer, scaler, schedule and autocast rule, the same
record of every step. It saves and evaluates nothing. Data order and augmentation
are simpler: a random permutation, and none.

    python_run.py --run_dir=DIR --data_dir=DIR --steps=N --threads=N --precision=fp16 \\
        --model=convnet --batch=128
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import struct

import numpy
import torch
from torch import nn
from torch.nn import functional

import python_models

LR = 0.003
WEIGHT_DECAY = 0.01
CLIP_NORM = 1.0
WARMUP = 10
FINAL_FRACTION = 0.01
PIXEL_MEAN = 0.2860
PIXEL_STD = 0.3530
SEQUENCE_LENGTH = 128
LICENCES = pathlib.Path("/usr/share/common-licenses")
HELD_OUT = ("Artistic", "MPL-2.0")
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": None}


def load(folder, name, header):
    with gzip.open(os.path.join(folder, name)) as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def pictures(data_dir):
    """A function from ids to input and labels, and the number of samples."""
    pixels = load(data_dir, "train-images-idx3-ubyte.gz", 16)
    images = torch.from_numpy(pixels.copy()).view(-1, 1, 28, 28)
    labels = torch.from_numpy(load(data_dir, "train-labels-idx1-ubyte.gz", 8).copy()).long()

    def make_batch(ids):
        return images[ids].float().div_(255).sub_(PIXEL_MEAN).div_(PIXEL_STD), labels[ids]

    return make_batch, len(images)


def texts(_):
    """The same, of windows of text."""
    text = b"".join(path.read_bytes() for path in sorted(LICENCES.iterdir())
                    if not path.is_symlink() and path.name not in HELD_OUT)
    size = (len(text) - 1) // SEQUENCE_LENGTH
    tokens = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    windows = tokens[:size * SEQUENCE_LENGTH].view(size, -1)
    following = tokens[1:size * SEQUENCE_LENGTH + 1].view(size, -1)

    def make_batch(ids):
        return windows[ids].long(), following[ids].long()

    return make_batch, size


def bits(value):
    return struct.pack(">f", value).hex()


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--run_dir", "--data_dir", "--precision", "--model"):
        parser.add_argument(flag, required=True)
    for flag in ("--steps", "--threads", "--batch"):
        parser.add_argument(flag, type=int, required=True)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.manual_seed(1)

    make_batch, size = (texts if options.model == "gpt" else pictures)(options.data_dir)
    order = torch.randperm(size)

    dtype = DTYPES[options.precision]
    model = python_models.MODELS[options.model](dtype)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": WEIGHT_DECAY},
         {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}], lr=LR)
    scaler = torch.amp.GradScaler("cpu", init_scale=65536.0, growth_interval=200,
                                  enabled=dtype == torch.float16)

    def fraction(position):
        if position < WARMUP:
            return (position + 1) / WARMUP
        progress = min(1.0, (position - WARMUP) / max(1, options.steps - WARMUP))
        return FINAL_FRACTION + (1 - FINAL_FRACTION) * 0.5 * (1 + math.cos(math.pi * progress))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, fraction)
    with open(os.path.join(options.run_dir, "metrics.jsonl"), "a", buffering=1) as metrics:
        for step in range(1, options.steps + 1):
            start = (step - 1) * options.batch % (size - options.batch + 1)
            x, labels = make_batch(order[start:start + options.batch])
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
                loss = functional.cross_entropy(model(x).flatten(0, -2), labels.flatten())
            scale = scaler.get_scale()
            lr = [group["lr"] for group in optimizer.param_groups]
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(parameters, CLIP_NORM)
            scaler.step(optimizer)
            scaler.update()
            skipped = scaler.get_scale() < scale
            if not skipped:
                schedule.step()
            loss_value, norm_value = loss.item(), norm.item()
            metrics.write(json.dumps({
                "type": "step", "attempt": 1, "step": step, "samples": step * options.batch,
                "loss": {"v": loss_value, "bits": bits(loss_value)},
                "lr": [{"v": v, "bits": struct.pack(">d", v).hex()} for v in lr],
                "scale": {"v": scale, "bits": bits(scale)}, "skipped": skipped,
                "grad_norm": {"v": norm_value if math.isfinite(norm_value) else None,
                              "bits": bits(norm_value)}}) + "\n")


if __name__ == "__main__":
    main()
