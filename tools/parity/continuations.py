#!/usr/bin/env python3
"""Training runs of Python's that the trainer goes on with, in the forms in which people save them.

    tools/parity/run.sh continuations             writes trainer/parity/fixtures/NAME.pt and NAME.txt
    tools/parity/run.sh continuations check CKPT  takes each NAME.pt through `ckpt import` and `ckpt export` (CKPT
                                                  is the program), loads what comes out into new objects and
                                                  trains on: the tensors and the next losses are the same bits

Each NAME.pt is the dict that torch.save wrote in the middle of a run; NAME.txt has what Python did
next from it, on the batches that the trainer begins with: step, loss, and the scale after it where
there is a scaler. //trainer/parity:continue_in_trainer_test goes on from the same files.

    nanogpt         nanoGPT's dict of a compiled model: `_orig_mod.` before every name, tied embedding
    bf16_masters    matrices kept in bf16, their fp32 masters in the dict; a LambdaLR; no scaler
    resnet_ddp      `module.` before every name (DistributedDataParallel); SGD with momentum, batch norm,
                    CosineAnnealingLR; other names of the parts
    fp16_lambda     fp16 with a GradScaler in the middle of its growth interval, and a LambdaLR
"""

import fixtures  # noqa: I001  (first: it fixes the instruction set)

import math
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file
from torch import nn

OUT = fixtures.OUT
AFTER = 10


def split(net):
    """Two groups, as the trainer has them: matrices and kernels decay, biases and norms do not."""
    parameters = list(net.parameters())
    return [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]


def warmup_cosine(warmup, horizon, final=0.01):
    def factor(position):
        if position < warmup:
            return (position + 1) / warmup
        if position >= horizon:
            return final
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * (position - warmup) / (horizon - warmup)))
    return factor


def text_batches():
    """[8, 16] bytes and the bytes that follow each, of the batches that the trainer begins with."""
    rows = [bytes.fromhex(line.strip()) for line in open(OUT / "first_texts.txt") if not line.startswith("#")]
    for i in range(0, len(rows), 8):
        windows = torch.tensor([list(row) for row in rows[i:i + 8]])
        yield windows[:, :-1], windows[:, 1:]


def made_up_texts(steps):
    for step in range(steps):
        windows = (torch.arange(8 * 17).reshape(8, 17) * (step + 3)) % 256
        yield windows[:, :-1], windows[:, 1:]


def made_up_images(steps):
    for step in range(steps):
        yield fixtures.fixed([8, 1, 4, 4], seed=step + 1), torch.arange(8)


class Form:
    """A run and how it is saved. Subclasses have `name`, the batches `before` and `after` it is saved, and

    step(*batch)   trains, and gives the words of that step after its number
    state(number)  the dict that is saved
    load(state)    from the dict that `ckpt export` writes: {model, master, optimizer, scheduler, scaler}
    """

    def go_on(self, number):
        """The lines of NAME.txt."""
        lines = [" ".join([str(number + i + 1)] + self.step(*batch)) for i, batch in enumerate(self.after())]
        assert len(lines) == AFTER
        return lines

    def write(self):
        before = list(self.before())
        for batch in before:
            self.step(*batch)
        torch.save(self.state(len(before)), OUT / f"{self.name}.pt")
        fixtures.write(f"{self.name}.txt",
                       [f"step, loss, scale after it where there is one; from {self.name}.pt"],
                       self.go_on(len(before)))

    def check(self, ckpt):
        with tempfile.TemporaryDirectory() as folder:
            for words in (["import", OUT / f"{self.name}.pt", f"--out={folder}/run"],
                          ["export", f"{folder}/run", f"--out={folder}/again.pt"],
                          ["export", f"{folder}/run", f"--out={folder}/again.safetensors"]):
                subprocess.run([ckpt, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
            first = torch.load(OUT / f"{self.name}.pt", weights_only=True)
            state = torch.load(f"{folder}/again.pt", weights_only=True)
            weights = load_file(f"{folder}/again.safetensors")
        model = first.get("model", first.get("state_dict"))
        assert list(state["model"]) and set(state["model"]) == set(model) == set(weights)
        for name, tensor in model.items():
            for other in (state["model"][name], weights[name]):
                assert other.dtype == tensor.dtype and torch.equal(other, tensor), name
        self.load(state)
        lines = self.go_on(state["step"])
        expected = [line for line in (OUT / f"{self.name}.txt").read_text().splitlines()
                    if not line.startswith("#")]
        assert lines == expected, f"{self.name}: {lines} instead of {expected}"
        print(f"{self.name}: {len(weights)} tensors and {AFTER} losses after import and export are the same bits")


class NanoGpt(nn.Module):
    """nanoGPT's modules and names, with the trainer's block."""

    def __init__(self, vocab, width, heads, length):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab, width), "wpe": nn.Embedding(length, width),
            "h": nn.ModuleList([fixtures.GptBlock(width, heads)]), "ln_f": nn.LayerNorm(width)})
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe(torch.arange(tokens.shape[1]))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


class NanoGptForm(Form):
    name = "nanogpt"

    def __init__(self):
        torch.manual_seed(21)
        self.net = NanoGpt(vocab=256, width=8, heads=2, length=16)
        self.optimizer = torch.optim.AdamW(split(self.net), lr=1e-2, betas=(0.9, 0.95))

    def before(self):
        return made_up_texts(6)

    def after(self):
        return text_batches()

    def step(self, tokens, following):
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.net(tokens).flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return [fixtures.f32(loss.item())]

    def state(self, number):
        # What nanoGPT saves when it compiles: the wrapper's names.
        return {"model": torch.compile(self.net).state_dict(), "optimizer": self.optimizer.state_dict(),
                "model_args": {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 16, "bias": True,
                               "vocab_size": 256, "dropout": 0.0},
                "iter_num": number, "best_val_loss": torch.tensor(4.5),
                "config": {"dataset": "text", "learning_rate": 1e-2, "decay_lr": False, "compile": True,
                           "grad_clip": 1.0, "eval_only": False}}

    def load(self, state):
        torch.compile(self.net).load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


class Bf16MastersForm(Form):
    name = "bf16_masters"

    def __init__(self):
        torch.manual_seed(22)
        self.net = fixtures.SmallMlp()
        self.masters = {}
        for name, p in self.net.named_parameters():
            if p.dim() == 2:
                self.masters[name] = nn.Parameter(p.detach().clone())
                p.data = p.data.to(torch.bfloat16)
        stepped = [self.masters.get(name, p) for name, p in self.net.named_parameters()]
        self.optimizer = torch.optim.AdamW([
            {"params": [p for p in stepped if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in stepped if p.dim() < 2], "weight_decay": 0.0}], lr=0.02)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(4, 60))

    def before(self):
        return made_up_images(7)

    def after(self):
        return fixtures.first_batches()

    def step(self, images, labels):
        self.net.zero_grad()
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(self.net(images), labels)
        loss.backward()
        halves = [(self.masters[name], p) for name, p in self.net.named_parameters() if name in self.masters]
        for master, p in halves:
            master.grad = p.grad.float()
        self.optimizer.step()
        self.scheduler.step()
        with torch.no_grad():
            for master, p in halves:
                p.copy_(master)
        return [fixtures.f32(loss.item())]

    def state(self, number):
        return {"model": self.net.state_dict(),
                "master": {name: p.detach() for name, p in self.masters.items()},
                "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(),
                "step": number}

    def load(self, state):
        self.net.load_state_dict(state["model"])
        assert set(state["master"]) == set(self.masters)
        for name, tensor in state["master"].items():
            self.masters[name].data.copy_(tensor)
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(dict(state["scheduler"], lr_lambdas=[None, None]))


class NarrowResNet18(fixtures.ResNet18):
    """ResNet-18 with `width` channels in the first stage, of images of one channel."""

    def __init__(self, width, classes):
        nn.Module.__init__(self)
        self.conv1 = nn.Conv2d(1, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        sizes = [(1, 1, 1), (1, 2, 2), (2, 4, 2), (4, 8, 2)]
        for i, (inside, outside, stride) in enumerate(sizes, 1):
            setattr(self, f"layer{i}", nn.Sequential(
                fixtures.Block(inside * width, outside * width, stride),
                fixtures.Block(outside * width, outside * width, 1)))
        self.fc = nn.Linear(8 * width, classes)


class ResNetDdpForm(Form):
    name = "resnet_ddp"

    def __init__(self):
        torch.manual_seed(23)
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.net = nn.parallel.DistributedDataParallel(NarrowResNet18(width=1, classes=10))
        self.optimizer = torch.optim.SGD(split(self.net), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=100, eta_min=0.01 * 0.05)

    def before(self):
        return made_up_images(5)

    def after(self):
        return fixtures.first_batches()

    def step(self, images, labels):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(images), labels)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [fixtures.f32(loss.item())]

    def state(self, number):
        return {"epoch": 1, "state_dict": self.net.state_dict(), "optimizer_state_dict": self.optimizer.state_dict(),
                "lr_scheduler": self.scheduler.state_dict(), "global_step": number, "arch": "resnet18"}

    def load(self, state):
        self.net.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])


class Fp16LambdaForm(Form):
    name = "fp16_lambda"

    def __init__(self):
        torch.manual_seed(24)
        self.net = fixtures.SmallMlp()
        self.optimizer = torch.optim.Adam(split(self.net), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(4, 60))
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**13, growth_interval=6)

    def before(self):
        return made_up_images(9)

    def after(self):
        return fixtures.first_batches()

    def step(self, images, labels):
        return fixtures.train(self.net, self.optimizer, self.scheduler, self.scaler, 0, images, labels).split()[1:]

    def state(self, number):
        # Three good steps of the six since it grew: the next growth is after three more.
        assert self.scaler.state_dict()["_growth_tracker"] == 3
        return {"model": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(), "scaler": self.scaler.state_dict(), "step": number}

    def load(self, state):
        self.net.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(dict(state["scheduler"], lr_lambdas=[None, None]))
        self.scaler.load_state_dict(state["scaler"])


def main():
    torch.set_num_threads(1)
    for form in (NanoGptForm, Bf16MastersForm, ResNetDdpForm, Fp16LambdaForm):
        if sys.argv[1:2] == ["check"]:
            form().check(sys.argv[2])
        else:
            form().write()


if __name__ == "__main__":
    main()
