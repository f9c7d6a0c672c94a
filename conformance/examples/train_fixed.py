"""train.py with its bug fixed: the checkpoint also holds the loss scale and where
the data stands."""

import train
from train import Trainer, main  # noqa: F401 (for testee.py)

train.SAVED += ["scale", "good_steps", "epoch", "position"]

if __name__ == "__main__":
    main()
