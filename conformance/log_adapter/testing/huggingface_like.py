"""Prints the log of a script around Hugging Face's Trainer: dictionaries, and a
progress bar that is redrawn with carriage returns, several at once on a terminal."""
import argparse
import json
import os
import sys
import time

import stand_in

parser = argparse.ArgumentParser()
parser.add_argument("--output_dir", required=True)
parser.add_argument("--max_steps", type=int, required=True)
parser.add_argument("--save_steps", type=int, required=True)
parser.add_argument("--logging_steps", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--resume_from_checkpoint")
options = parser.parse_args()

STEPS_PER_EPOCH = 25


def draw(done, total):
    """The bar, as tqdm draws it: no newline behind it."""
    sys.stderr.write("\r %3d%%|\u2588\u2588        | %d/%d [00:01<00:09,  9.99it/s]" %
                     (100 * done // total, done, total))
    sys.stderr.flush()


def write(text):
    """A line above the bar, which is cleared and drawn again."""
    sys.stderr.write("\r" + " " * 60 + "\r")
    sys.stderr.flush()
    print(text, flush=True)
    draw(model.step, options.max_steps)


model = stand_in.Model(options.seed)
if options.resume_from_checkpoint:
    model.load(os.path.join(options.resume_from_checkpoint, "pytorch_model.bin"))
draw(0, options.max_steps)
while model.step < options.max_steps:
    lr = stand_in.learning_rate(model.step + 1, options.max_steps)
    loss = model.train_one(lr)
    time.sleep(0.004)
    draw(model.step, options.max_steps)
    write(str({"loss": round(loss, 4), "grad_norm": round(abs(model.momentum), 6),
               "learning_rate": lr, "epoch": round(model.step / STEPS_PER_EPOCH, 4)}))
    if model.step % options.save_steps == 0:
        for done in range(1, 4):
            draw(done, 3)
        write(str({"eval_loss": 0.5, "eval_runtime": 0.1, "epoch": 1.0}))
        folder = os.path.join(options.output_dir, "checkpoint-%d" % model.step)
        os.makedirs(folder, exist_ok=True)
        model.save(os.path.join(folder, "pytorch_model.bin"))
        with open(os.path.join(folder, "trainer_state.json"), "w") as out:
            json.dump({"global_step": model.step}, out)
write(str({"train_runtime": 1.0, "train_loss": 1.0, "epoch": 1.0}))
sys.stderr.write("\n")
