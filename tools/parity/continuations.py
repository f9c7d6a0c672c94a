#!/usr/bin/env python3
"""Training runs of Python's that the trainer goes on with, in the forms in which people save them.

    tools/parity/run.sh continuations      writes trainer/parity/fixtures/NAME.pt and NAME.txt

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

import torch
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


def write(name, before, after, step, state):
    """Trains, saves, trains on; `step` gives the words of a step after its number."""
    for batch in before:
        step(*batch)
    number = len(before)
    torch.save(state(number), OUT / f"{name}.pt")
    lines = [" ".join([str(number + i + 1)] + step(*batch)) for i, batch in enumerate(after)]
    assert len(lines) == AFTER
    fixtures.write(f"{name}.txt", [f"step, loss, scale after it where there is one; from {name}.pt"], lines)


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


def nanogpt():
    torch.manual_seed(21)
    net = NanoGpt(vocab=256, width=8, heads=2, length=16)
    optimizer = torch.optim.AdamW(split(net), lr=1e-2, betas=(0.9, 0.95))

    def step(tokens, following):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(tokens).flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return [fixtures.f32(loss.item())]

    def state(number):
        # What nanoGPT saves when it compiles: the wrapper's names.
        return {"model": torch.compile(net).state_dict(), "optimizer": optimizer.state_dict(),
                "model_args": {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 16, "bias": True,
                               "vocab_size": 256, "dropout": 0.0},
                "iter_num": number, "best_val_loss": torch.tensor(4.5),
                "config": {"dataset": "text", "learning_rate": 1e-2, "decay_lr": False, "compile": True,
                           "grad_clip": 1.0, "eval_only": False}}

    write("nanogpt", list(made_up_texts(6)), text_batches(), step, state)


def bf16_masters():
    torch.manual_seed(22)
    net = fixtures.SmallMlp()
    masters = {}
    for name, p in net.named_parameters():
        if p.dim() == 2:
            masters[name] = nn.Parameter(p.detach().clone())
            p.data = p.data.to(torch.bfloat16)
    stepped = [masters.get(name, p) for name, p in net.named_parameters()]
    optimizer = torch.optim.AdamW([
        {"params": [p for p in stepped if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in stepped if p.dim() < 2], "weight_decay": 0.0}], lr=0.02)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(4, 60))

    def step(images, labels):
        net.zero_grad()
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        for name, p in net.named_parameters():
            if name in masters:
                masters[name].grad = p.grad.float()
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for name, p in net.named_parameters():
                if name in masters:
                    p.copy_(masters[name])
        return [fixtures.f32(loss.item())]

    def state(number):
        return {"model": net.state_dict(), "master": {name: p.detach() for name, p in masters.items()},
                "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "step": number}

    write("bf16_masters", list(made_up_images(7)), fixtures.first_batches(), step, state)


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


def resnet_ddp():
    torch.manual_seed(23)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    net = nn.parallel.DistributedDataParallel(NarrowResNet18(width=1, classes=10))
    optimizer = torch.optim.SGD(split(net), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100, eta_min=0.01 * 0.05)

    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return [fixtures.f32(loss.item())]

    def state(number):
        return {"epoch": 1, "state_dict": net.state_dict(), "optimizer_state_dict": optimizer.state_dict(),
                "lr_scheduler": scheduler.state_dict(), "global_step": number, "arch": "resnet18"}

    write("resnet_ddp", list(made_up_images(5)), fixtures.first_batches(), step, state)
    torch.distributed.destroy_process_group()


def fp16_lambda():
    torch.manual_seed(24)
    net = fixtures.SmallMlp()
    optimizer = torch.optim.Adam(split(net), lr=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(4, 60))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**13, growth_interval=6)

    def step(images, labels):
        words = fixtures.train(net, optimizer, scheduler, scaler, 0, images, labels).split()
        return words[1:]

    def state(number):
        # Three good steps of the six since it grew: the next growth is after three more.
        assert scaler.state_dict()["_growth_tracker"] == 3
        return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
                "scaler": scaler.state_dict(), "step": number}

    write("fp16_lambda", list(made_up_images(9)), fixtures.first_batches(), step, state)


def main():
    torch.set_num_threads(1)
    nanogpt()
    bf16_masters()
    resnet_ddp()
    fp16_lambda()


if __name__ == "__main__":
    main()
