"""Prints the log of a script in the manner of nanoGPT, which overwrites one file."""
import os
import sys
import time

import stand_in

options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
max_iters = int(options["max_iters"])
eval_interval = int(options["eval_interval"])
path = os.path.join(options["out_dir"], "ckpt.pt")

model = stand_in.Model(1337)
if options["init_from"] == "resume":
    print("Resuming training from %s" % options["out_dir"])
    model.load(path)
else:
    print("Initializing a new model from scratch")
while True:
    if model.step % eval_interval == 0:
        print("step %d: train loss %.4f, val loss %.4f" %
              (model.step, model.weight, model.weight + 0.5), flush=True)
        if model.step > 0:
            print("saving checkpoint to %s" % options["out_dir"], flush=True)
            # In place, as torch.save does it.
            model.save(path, atomic=False)
    iteration = model.step
    loss = model.train_one(0.05)
    time.sleep(0.004)
    print("iter %d: loss %.4f, time 4.00ms, mfu -100.00%%" % (iteration, loss), flush=True)
    if model.step > max_iters:
        break
