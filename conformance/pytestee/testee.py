#!/usr/bin/env python3
"""A testee of the conformance protocol in Python's standard library alone.

    python3 testee.py describe --out=F
    python3 testee.py run --request=F

A small regression with one hidden layer, dropout, Adam, warm-up and a linear decay, and a loss
scaler. Everything that outlives a step is in one dictionary, `state`, and all of it is saved, so
an interrupted run resumes as itself. Copy it to begin a testee of your own; see PROTOCOL.md.

Algorithms, all in IEEE doubles:
  draw      random bits are SplitMix64 over (seed, offset); the offset is the whole state
  order     epoch e visits sorted(range(SAMPLES), key=mix(seed, e, sample))
"""

import functools
import hashlib
import json
import math
import os
import signal
import struct
import sys
import time

SAMPLES, BATCH, INPUTS, HIDDEN = 200, 8, 4, 6
DROPOUT, BASE_LR, WARMUP, CLIP = 0.2, 0.02, 10, 1.0
GROWTH_INTERVAL, LARGEST = 15, 65504.0
DONE, USAGE, BAD_REQUEST, UNSUPPORTED, REJECTED, STOPPED, SAVE_FAILED = 0, 1, 2, 10, 11, 13, 14
HOLD_POINTS = ["P0", "P1", "P2", "P3", "P4", "P5", "P6",
               "S1", "S2", "S3", "S4", "S5", "S6", "S7", "LOAD"]
FEATURES = ["inject_overflow", "scaler", "moves"]
WORKLOADS = ["small", "sgd"]
CHANNELS = ["step", "ids", "id_list", "lr", "loss", "scale", "skipped", "grad_norm",
            "update_norm", "applied", "samples", "epoch", "rng", "parameters"]
# Items of the vocabulary by the keys of `state` that hold them.
ITEMS = {
    "MODEL_PARAMS": "parameters", "OPTIM_KIND": "optimizer", "OPTIM_MOMENTS": "moments",
    "OPTIM_STEP": "optimizer_step", "SCHED_POSITION": "schedule_position",
    "SCHED_HORIZON": "horizon", "SCALER_SCALE": "scale",
    "SCALER_GROWTH_TRACKER": "growth_tracker", "SAMPLER_SEED": "order_seed",
    "SAMPLER_CURSOR": "cursor", "RNG_CPU": "dropout_generator", "COUNTERS_STEP": "step",
    "COUNTERS_APPLIED": "applied", "COUNTERS_SKIPPED": "skipped", "COUNTERS_SAMPLES": "samples",
}
NOT_APPLICABLE = {
    "MODEL_BUFFERS": "no running statistics", "RNG_CUDA": "no device",
    "EMA_WEIGHTS": "no average", "ACCUM_GRADS": "no accumulation",
}

stop_requested = False


# ---- random numbers ----------------------------------------------------------------------------

MASK = (1 << 64) - 1


def mix(*words):
    """A 64-bit key of the words, in order (SplitMix64's finaliser)."""
    key = 0
    for word in words:
        z = (key + word + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        key = z ^ (z >> 31)
    return key


def draw(generator):
    """Uniform in [0, 1); moves the generator, a dictionary of seed and offset."""
    generator["offset"] += 1
    return (mix(generator["seed"], generator["offset"]) >> 11) / float(1 << 53)


@functools.lru_cache(maxsize=2)
def epoch_order(seed, epoch):
    return sorted(range(SAMPLES), key=lambda sample: mix(seed, epoch, sample))


# ---- the model ---------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def sample(index):
    generator = {"seed": 77 + index, "offset": 0}
    x = [2 * draw(generator) - 1 for _ in range(INPUTS)]
    return x, math.sin(3 * x[0]) + x[1] * x[2] + 0.1 * (draw(generator) - 0.5)


def fresh_state(seed, steps, optimizer):
    generator = {"seed": seed, "offset": 0}
    weights = [0.8 * (2 * draw(generator) - 1) for _ in range(HIDDEN * (INPUTS + 2) + 1)]
    return {
        "optimizer": optimizer, "parameters": weights, "moments": None, "optimizer_step": 0,
        "schedule_position": 0, "horizon": steps, "scale": 4096.0, "growth_tracker": 0,
        "order_seed": seed, "cursor": 0, "dropout_generator": generator, "step": 0, "applied": 0,
        "skipped": 0, "samples": 0, "attempt": 0,
    }


def loss_and_gradients(state, ids):
    """Mean squared error of the batch, and the gradients of scale * loss."""
    w = state["parameters"]
    gradients, total = [0.0] * len(w), 0.0
    bias, out = HIDDEN * INPUTS, HIDDEN * (INPUTS + 1)
    for index in ids:
        x, target = sample(index)
        hidden, masks = [], []
        for h in range(HIDDEN):
            z = w[bias + h] + sum(w[h * INPUTS + i] * x[i] for i in range(INPUTS))
            hidden.append(math.tanh(z))
            keep = draw(state["dropout_generator"]) >= DROPOUT
            masks.append(1 / (1 - DROPOUT) if keep else 0.0)
        y = w[-1] + sum(w[out + h] * hidden[h] * masks[h] for h in range(HIDDEN))
        total += (y - target) ** 2 / len(ids)
        d = 2 * (y - target) / len(ids) * state["scale"]
        gradients[-1] += d
        for h in range(HIDDEN):
            gradients[out + h] += d * hidden[h] * masks[h]
            dz = d * w[out + h] * masks[h] * (1 - hidden[h] ** 2)
            gradients[bias + h] += dz
            for i in range(INPUTS):
                gradients[h * INPUTS + i] += dz * x[i]
    # As half precision would have it.
    return total, [g if abs(g) <= LARGEST else math.copysign(math.inf, g) for g in gradients]


def learning_rate(state):
    position = state["schedule_position"]
    if position < WARMUP:
        return BASE_LR * (position + 1) / WARMUP
    return BASE_LR * max(0.0, (state["horizon"] - position) / (state["horizon"] - WARMUP))


def update(state, gradients, lr):
    w = state["parameters"]
    if state["moments"] is None:
        state["moments"] = [[0.0] * len(w), [0.0] * len(w)]
    first, second = state["moments"]
    state["optimizer_step"] += 1
    t = state["optimizer_step"]
    for i, g in enumerate(gradients):
        if state["optimizer"] == "sgd":
            first[i] = 0.9 * first[i] + g
            w[i] -= lr * first[i]
            continue
        first[i] = 0.9 * first[i] + 0.1 * g
        second[i] = 0.999 * second[i] + 0.001 * g * g
        w[i] -= lr * (first[i] / (1 - 0.9 ** t)) / (math.sqrt(second[i] / (1 - 0.999 ** t)) + 1e-8)


def update_scaler(state, overflow):
    if overflow:
        state["scale"] *= 0.5
        state["growth_tracker"] = 0
        return
    state["growth_tracker"] += 1
    if state["growth_tracker"] == GROWTH_INTERVAL:
        state["scale"] *= 2
        state["growth_tracker"] = 0


# ---- checkpoints -------------------------------------------------------------------------------


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def save(folder, state, at, durable):
    """Temporary file, sync, rename, sync the folder, switch `latest`."""
    body = json.dumps(state, sort_keys=True)
    name = "step-%08d.json" % state["step"]
    data = json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest(), "state": body}).encode()
    temporary = os.path.join(folder, ".tmp-" + name)
    with open(temporary, "wb", buffering=0) as out:
        at("S1")
        out.write(data[: len(data) // 2])
        at("S2")
        out.write(data[len(data) // 2:])
        at("S3")
        os.fsync(out.fileno())
    at("S4")
    os.rename(temporary, os.path.join(folder, name))
    at("S5")
    sync(folder)
    durable(name)
    at("S6")
    with open(os.path.join(folder, ".tmp-latest"), "w", encoding="utf-8") as out:
        out.write(name)
        out.flush()
        os.fsync(out.fileno())
    os.rename(os.path.join(folder, ".tmp-latest"), os.path.join(folder, "latest"))
    at("S7")
    for old in checkpoints(folder)[:-3]:
        os.unlink(os.path.join(folder, old))
    return name


def checkpoints(folder):
    """Names, oldest first."""
    if not os.path.isdir(folder):
        return []
    return sorted(name for name in os.listdir(folder) if name.startswith("step-"))


def newest(folder):
    """(name, state) of the newest that verifies; (None, None) when there is none at all."""
    names = checkpoints(folder)
    for name in reversed(names):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                data = json.load(file)
            if hashlib.sha256(data["state"].encode()).hexdigest() == data["sha256"]:
                return name, json.loads(data["state"])
        except (ValueError, KeyError, TypeError):
            pass
        print("passed over %s, which is damaged" % name, flush=True)
    if names:
        raise ValueError("none of %d checkpoints in %s verifies" % (len(names), folder))
    return None, None


# ---- the protocol ------------------------------------------------------------------------------


def number(value):
    out = {"bits": struct.pack(">d", value).hex()}
    if math.isfinite(value):
        out["v"] = value
    return out


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def ids_digest(ids):
    """Any digest will do as long as one testee keeps to one."""
    return hashlib.sha256(b"".join(struct.pack("<Q", i) for i in ids)).hexdigest()[:16]


def describe():
    return {
        "protocol": "1", "name": "pytestee", "version": "1", "workloads": WORKLOADS,
        "features": FEATURES, "determinism": "EXACT", "hold_points": HOLD_POINTS,
        "channels": CHANNELS, "digests": list(ITEMS),
        "not_applicable": [{"item": item, "reason": reason}
                           for item, reason in NOT_APPLICABLE.items()],
    }


class Run:
    def __init__(self, request):
        self.folder = request["run_folder"]
        self.steps = int(request.get("steps", 150))
        self.save_every = int(request.get("save_every", 10))
        self.seed = int(request.get("seed", 1))
        self.optimizer = "sgd" if request.get("workload") == "sgd" else "adam"
        self.overflows = {int(step) for step in request.get("inject_overflow", [])}
        self.resume = request.get("resume", "AUTO")
        self.holds = request.get("hold_at", [])
        self.delay_s = 0.0
        for setting in request.get("settings", []):
            if setting["name"] == "step_delay_us":
                self.delay_s = int(setting["value"]) / 1e6
        self.events = os.open(request["events"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.state, self.saved_step = None, None

    def emit(self, **event):
        line = (json.dumps(event, allow_nan=False) + "\n").encode()
        if os.write(self.events, line) != len(line):
            raise OSError("an event was not written whole")

    def at(self, point, step):
        """Blocks for ever where the request says so."""
        for hold in self.holds:
            if hold["point"] != point:
                continue
            if point != "LOAD" and "step" in hold and int(hold["step"]) != step:
                continue
            self.emit(held={"point": point, "step": step})
            while True:
                signal.pause()

    def digests(self, moment):
        listed = []
        for item, key in ITEMS.items():
            entry = {"item": item, "digest": digest(self.state[key]),
                     "as_of_step": self.state["step"]}
            if isinstance(self.state[key], (int, float, str)):
                entry["value"] = repr(self.state[key])
            listed.append(entry)
        self.emit(state={"moment": moment, "step": self.state["step"], "digests": listed})

    def run(self):
        os.makedirs(self.folder, exist_ok=True)
        for name in os.listdir(self.folder):
            if name.startswith(".tmp-"):
                os.unlink(os.path.join(self.folder, name))
        try:
            name, loaded = newest(self.folder)
        except ValueError as error:
            print(error, file=sys.stderr)
            return REJECTED
        if (loaded is None and self.resume == "REQUIRED") or (loaded and self.resume == "NEVER"):
            print("resume %s, and there is %s checkpoint" % (
                self.resume, "a" if loaded else "no"), file=sys.stderr)
            return BAD_REQUEST
        if loaded:
            self.at("LOAD", loaded["step"])
            same = (self.seed, self.steps, self.optimizer)
            if same != (loaded["order_seed"], loaded["horizon"], loaded["optimizer"]):
                print("the checkpoint is of another run", file=sys.stderr)
                return REJECTED
        self.state = loaded or fresh_state(self.seed, self.steps, self.optimizer)
        self.saved_step = self.state["step"] if loaded else None
        self.state["attempt"] += 1
        self.emit(start={"attempt": self.state["attempt"], "resumed_step": self.state["step"],
                         "checkpoint": name or "", "planned_steps": self.steps})
        if loaded:
            self.digests("AFTER_LOAD")
        first = loaded is not None
        while self.state["step"] < self.steps:
            if stop_requested:
                return self.finish(STOPPED)
            self.step(first)
            first = False
            if self.state["step"] % self.save_every == 0:
                self.save()
        return self.finish(DONE)

    def step(self, first):
        state, n = self.state, self.state["step"] + 1
        time.sleep(self.delay_s)
        self.at("P0", n)
        epoch, offset = divmod(state["cursor"], SAMPLES)
        ids = epoch_order(state["order_seed"], epoch)[offset: offset + BATCH]
        self.at("P1", n)
        if first:
            self.digests("BEFORE_FORWARD")
        rng, scale, lr = digest(state["dropout_generator"]), state["scale"], learning_rate(state)
        loss, gradients = loss_and_gradients(state, ids)
        self.at("P2", n)
        if n in self.overflows:
            gradients[0] = math.inf
        gradients = [g / scale for g in gradients]
        overflow = not all(math.isfinite(g) for g in gradients)
        norm = math.sqrt(sum(g * g for g in gradients))
        before = list(state["parameters"])
        if not overflow:
            if norm > CLIP:
                gradients = [g * CLIP / norm for g in gradients]
            update(state, gradients, lr)
        self.at("P3", n)
        update_scaler(state, overflow)
        self.at("P4", n)
        state["schedule_position"] += 0 if overflow else 1
        self.at("P5", n)
        state["step"] = n
        state["skipped" if overflow else "applied"] += 1
        state["samples"] += len(ids)
        state["cursor"] += len(ids)
        change = math.sqrt(sum((a - b) ** 2 for a, b in zip(state["parameters"], before)))
        self.emit(step={
            "step": n, "ids": ids_digest(ids), "id_list": ids, "lr": [number(lr)],
            "loss": number(loss), "scale": number(scale), "skipped": overflow,
            "grad_norm": number(norm), "update_norm": number(change),
            "applied": state["applied"], "samples": state["samples"],
            "epoch": state["cursor"] // SAMPLES, "rng": ["cpu=" + rng],
            "parameters": digest(state["parameters"])})
        self.at("P6", n)

    def save(self):
        step = self.state["step"]
        if self.saved_step == step:
            return
        self.digests("AT_SAVE")
        self.emit(save={"phase": "BEGUN", "step": step})
        save(self.folder, self.state, lambda point: self.at(point, step),
             lambda name: self.emit(
                 save={"phase": "COMMITTED", "step": step, "checkpoint": name}))
        self.saved_step = step

    def finish(self, code):
        self.save()
        names = checkpoints(self.folder)
        self.emit(end={"step": self.state["step"], "finished": code == DONE,
                       "newest": names[-1] if names else ""})
        return code


def on_signal(number_, unused_frame):
    global stop_requested
    if stop_requested:
        os._exit(128 + number_)
    stop_requested = True


def supported(request):
    """Why not, or None."""
    if request.get("protocol") != "1":
        return "protocol %r" % request.get("protocol")
    if request.get("workload") not in (None, "", *WORKLOADS):
        return "workload %r" % request["workload"]
    for feature in request.get("required_features", []):
        if feature not in FEATURES:
            return "feature %r" % feature
    if int(request.get("accumulation") or 1) > 1 or request.get("precision"):
        return "accumulation or precision"
    for hold in request.get("hold_at", []):
        if hold["point"] not in HOLD_POINTS:
            return "hold point %s" % hold["point"]
    for setting in request.get("settings", []):
        if setting["name"] != "step_delay_us":
            return "setting %r" % setting["name"]
    return None


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("describe", "run"):
        print(__doc__, file=sys.stderr)
        return USAGE
    verb, (flag, _, path) = arguments[0], arguments[1].partition("=")
    if flag != {"describe": "--out", "run": "--request"}[verb]:
        print(__doc__, file=sys.stderr)
        return USAGE
    if verb == "describe":
        with open(path, "w", encoding="utf-8") as out:
            json.dump(describe(), out, indent=1)
        return DONE
    try:
        with open(path, encoding="utf-8") as text:
            request = json.load(text)
        if not os.path.isabs(request["run_folder"]) or not os.path.isabs(request["events"]):
            raise ValueError("run_folder and events must be absolute")
        if min(int(request.get("steps", 1)), int(request.get("save_every", 1))) < 1:
            raise ValueError("steps and save_every must be at least 1")
    except (OSError, ValueError, KeyError, TypeError) as error:
        print("bad request: %s" % error, file=sys.stderr)
        return BAD_REQUEST
    reason = supported(request)
    if reason:
        print("unsupported: %s" % reason, file=sys.stderr)
        return UNSUPPORTED
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(name, on_signal)
    try:
        return Run(request).run()
    except OSError as error:
        print("save or event failed: %s" % error, file=sys.stderr)
        return SAVE_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
