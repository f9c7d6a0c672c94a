"""The adapter: what the harness says to train.py, and what it wants to hear.

    python3 testee.py train describe --out=F
    python3 testee.py train run --request=F

The first word is the module to test: train or train_fixed.
"""

import importlib
import json
import os
import signal
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def number(x):
    """A float64 with its bits."""
    return {"v": x, "bits": struct.pack(">d", x).hex()}


def describe(path):
    with open(path, "w") as file:
        json.dump({"protocol": "1", "name": sys.argv[1], "workloads": ["characters"],
                   "determinism": "EXACT", "features": ["scaler", "moves"],
                   "channels": ["step", "id_list", "lr", "loss", "scale", "skipped"]}, file)


def run(path):
    with open(path) as file:
        request = json.load(file)
    if (request.get("protocol") != "1" or request.get("workload", "") not in ("", "characters")
            or set(request.get("required_features", [])) - {"scaler", "moves"}
            or request.get("settings") or request.get("precision")):
        return 10
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    events = os.open(request["events"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def emit(**event):
        os.write(events, (json.dumps(event) + "\n").encode())   # one line, one write

    train = importlib.import_module(sys.argv[1])
    trainer = train.Trainer(seed=int(request.get("seed", 1)),
                            iterations=int(request.get("steps", 120)))
    folder, every = request["run_folder"], int(request.get("save_every", 10))
    loaded = trainer.load(folder)
    if (loaded and request.get("resume") == "NEVER"
            or not loaded and request.get("resume") == "REQUIRED"):
        return 2
    emit(start={"resumed_step": trainer.iteration, "planned_steps": trainer.iterations})

    while trainer.iteration < trainer.iterations:
        log = trainer.step()
        emit(step={"step": trainer.iteration, "id_list": log["ids"], "lr": [number(log["lr"])],
                   "loss": number(log["loss"]), "scale": number(log["scale"]),
                   "skipped": log["skipped"]})
        if trainer.iteration % every == 0 or stop:
            emit(save={"phase": "BEGUN", "step": trainer.iteration})
            trainer.save(folder)
            emit(save={"phase": "COMMITTED", "step": trainer.iteration})
        if stop:
            emit(end={"step": trainer.iteration, "finished": False})
            return 13
    emit(end={"step": trainer.iteration, "finished": True})
    return 0


if __name__ == "__main__":
    verb, _, value = sys.argv[2], *sys.argv[3].partition("=")[1:]
    sys.exit(describe(value) if verb == "describe" else run(value))
