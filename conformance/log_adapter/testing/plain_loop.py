"""Prints the log of a loop of one's own: one line a step."""
import argparse
import glob
import os
import time

import stand_in

parser = argparse.ArgumentParser()
parser.add_argument("--dir", required=True)
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--save-every", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
options = parser.parse_args()

STEPS_PER_EPOCH = 20
model = stand_in.Model(options.seed)
checkpoints = sorted(glob.glob(os.path.join(options.dir, "*.ckpt")))
if checkpoints:
    model.load(checkpoints[-1])
    print("resumed at step %d" % model.step, flush=True)
while model.step < options.steps:
    lr = stand_in.learning_rate(model.step + 1, options.steps)
    loss = model.train_one(lr)
    time.sleep(0.004)
    print("epoch %d step %d/%d loss %.6f lr %.8f" %
          (model.step // STEPS_PER_EPOCH, model.step, options.steps, loss, lr), flush=True)
    if model.step % options.save_every == 0:
        model.save(os.path.join(options.dir, "step-%06d.ckpt" % model.step))
        print("saved step %d" % model.step, flush=True)
