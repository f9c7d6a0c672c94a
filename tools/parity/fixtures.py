#!/usr/bin/env python3
"""Writes the fixtures that //trainer/parity compares the C++ trainer with.

Run by tools/parity/run.sh, which brings a Python with the pinned torch. Every
number is written as the hexadecimal digits of its bits. The instruction set is
fixed to LibTorch's portable one; the square root and the matrix kernels still
depend on the CPU model, so the model fixtures say on which one all of them were
recorded.
"""

import os
import pathlib
import platform
import struct
import sys

os.environ["ATEN_CPU_CAPABILITY"] = "default"
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402  (after the environment)
from torch import nn  # noqa: E402


STEPS = 200
WIDTH = 8
OUT = pathlib.Path(__file__).resolve().parents[2] / "trainer/parity/fixtures"


def f32(x):
    return struct.pack(">f", x).hex()


def f64(x):
    return struct.pack(">d", x).hex()


def bits(tensor):
    return " ".join(f32(v) for v in tensor.detach().float().flatten().tolist())


def fixed(shape, seed=12345):
    """Values in [-1, 1) from a 32-bit linear congruence; exact in fp32."""
    n = 1
    for extent in shape:
        n *= extent
    x, values = seed, []
    for _ in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        signed = x - (1 << 32) if x >= 1 << 31 else x
        values.append((signed >> 8) / (1 << 23))
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def gradients():
    """Gradients of STEPS steps before scaling; some steps hold Inf or NaN."""
    rows = [fixed([WIDTH], seed=step + 1) * (10.0 ** (step % 7 - 4)) for step in range(STEPS)]
    rows[3][2] = float("inf")
    rows[30][0] = float("nan")
    rows[31][7] = float("-inf")
    rows[120][5] = float("nan")
    rows[57].zero_()
    return rows


def write(name, header, lines):
    text = "".join(f"# {line}\n" for line in header) + "".join(line + "\n" for line in lines)
    (OUT / name).write_text(text)
    print(f"{name}: {len(lines)} lines")


def optimizers(rows):
    kinds = {
        "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1),
        "adam": lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1),
        "sgd": lambda p: torch.optim.SGD(p, lr=1e-2, weight_decay=0.1),
        "sgd_momentum": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.25, weight_decay=0.1),
        "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, weight_decay=0.1),
    }
    for kind, make in kinds.items():
        parameter = nn.Parameter(fixed([WIDTH]))
        optimizer = make([parameter])
        scaler = torch.amp.GradScaler("cpu", init_scale=4096.0, growth_interval=10)
        # The average starts as a copy, at decay 0.95.
        average = parameter.detach().clone()
        lines = []
        for row in rows:
            scale = scaler.get_scale()
            optimizer.zero_grad()
            loss = (parameter * row).sum()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_([parameter], max_norm=1.0)
            before = parameter.detach().clone()
            scaler.step(optimizer)
            applied = not torch.isinf(row).any() and not torch.isnan(row).any()
            assert applied or torch.equal(before, parameter)
            scaler.update()
            if applied:
                average.lerp_(parameter.detach(), 1 - 0.95)
            lines.append(" ".join([f32(scale), str(scaler._get_growth_tracker()), str(int(not applied)),
                                   f32(norm.item()), bits(parameter), bits(average)]))
        write(f"{kind}.txt",
              ["scale used, growth tracker after, skipped, gradient norm, 8 parameters after, 8 averages after"],
              lines)


def schedule():
    """warmup-cosine-v1 (warm-up 20, horizon 300, final fraction 0.01) from Python's closed forms."""
    p = nn.Parameter(torch.zeros(1))
    base, warmup, horizon, final = 1.0, 20, 300, 0.01
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(
        torch.optim.SGD([p], lr=base), T_max=horizon - warmup, eta_min=final * base)
    linear = torch.optim.lr_scheduler.LinearLR(
        torch.optim.SGD([p], lr=base), start_factor=1 / warmup, end_factor=1.0, total_iters=warmup - 1)
    lines = []
    for position in range(horizon + 1):
        source = linear if position < warmup else cosine
        source.last_epoch = position if position < warmup else position - warmup
        lines.append(f64(source._get_closed_form_lr()[0]))
    write("warmup_cosine.txt", ["factor at positions 0 to 300: warm-up 20, horizon 300, final fraction 0.01"], lines)


def schedules():
    """The other forms, of a base of 1: positions 0 to 300, or a run of evaluations."""
    schedulers = torch.optim.lr_scheduler

    def sgd():
        return torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)

    lines = []
    closed_forms = {
        "linear": lambda o: schedulers.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=280),
        "step": lambda o: schedulers.StepLR(o, step_size=30, gamma=0.3),
        "exponential": lambda o: schedulers.ExponentialLR(o, gamma=0.97),
    }
    for name, make in closed_forms.items():
        optimizer = sgd()
        walked, asked = make(optimizer), make(sgd())
        for position in range(301):
            asked.last_epoch = position
            lines.append(f"{name} {position} {f64(asked._get_closed_form_lr()[0])} "
                         f"{f64(optimizer.param_groups[0]['lr'])}")
            optimizer.step()
            walked.step()
    # The peak at position 0.3 * 300 - 1 = 89, the end at 299.
    optimizer = sgd()
    walked = schedulers.OneCycleLR(optimizer, max_lr=1.0, total_steps=300, pct_start=0.3, div_factor=25.0,
                                   final_div_factor=1e4, base_momentum=0.85, max_momentum=0.95)
    for position in range(300):
        group = optimizer.param_groups[0]
        lines.append(f"one_cycle {position} {f64(group['lr'])} {f64(group['momentum'])}")
        if position < 299:
            optimizer.step()
            walked.step()
    values = [3.0, 2.5, 2.4, 2.45, 2.44, 2.43, 2.42, 2.41, 2.39, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 1.0,
              float("nan"), 1.1, 1.1, 1.1, 1.1]
    for mode in ("min", "max"):
        optimizer = sgd()
        walked = schedulers.ReduceLROnPlateau(optimizer, mode=mode, factor=0.3, patience=2, threshold=0.01,
                                              cooldown=1, min_lr=0.02, eps=0.0)
        for value in values:
            walked.step(value)
            lines.append(f"plateau_{mode} {f64(value)} {f64(optimizer.param_groups[0]['lr'])} "
                         f"{walked.num_bad_epochs} {walked.cooldown_counter}")
    write("schedules.txt",
          ["linear, step, exponential: position, closed form, walked; one_cycle: position, rate, momentum;",
           "plateau: value, rate after it, bad evaluations, cooldown"], lines)


class ConvNet(nn.Module):
    """The default model (trainer/model/convnet.cc) in fp32, hidden width 32, no dropout."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 7 * 7, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.norm1(self.conv1(x))), 2)
        x = torch.max_pool2d(torch.relu(self.norm2(self.conv2(x))), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        # Created first: torchvision draws the projection before the block.
        downsample = None
        if stride != 1 or inside != outside:
            downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample = downsample

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """torchvision's resnet18 by its published definition (torchvision itself is not needed)."""

    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        for i, (inside, outside, stride) in enumerate(sizes, 1):
            setattr(self, f"layer{i}", nn.Sequential(Block(inside, outside, stride), Block(outside, outside, 1)))
        self.fc = nn.Linear(512, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(width, 3 * width), "c_proj": nn.Linear(width, width)})
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.attn["c_attn"](self.ln_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = torch.matmul(q, k.transpose(-2, -1)) * (1.0 / (width // self.heads) ** 0.5)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = torch.softmax(weights.masked_fill(future, -float("inf")), -1)
        y = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.attn["c_proj"](y)
        return x + self.mlp["c_proj"](nn.functional.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """trainer/model/gpt.cc without dropout."""

    def __init__(self, classes, width, layers, heads, length):
        super().__init__()
        self.wte = nn.Embedding(classes, width)
        self.wpe = nn.Embedding(length, width)
        self.h = nn.ModuleList([GptBlock(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, 0, 0.02 / (2.0 * layers) ** 0.5 if name.endswith("c_proj.weight") else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return nn.functional.linear(self.ln_f(x), self.wte.weight).flatten(0, 1)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def model(name, build, batch, shape, classes, text=False):
    """Initial values from a seed, then one forward and backward with them."""
    torch.manual_seed(7)
    net = build()
    net.train()
    lines = [f"cpu {cpu_name()}"]
    for key, value in net.named_parameters():
        # A sum in fp64 of fp32 values tells any changed draw.
        lines.append(f"init {key} {f64(value.detach().double().sum().item())} {bits(value.flatten()[:2])}")
    if text:
        bytes_ = (torch.arange(batch * shape[0] + 1) * 37) % classes
        inputs, labels = bytes_[:-1].view(batch, shape[0]), bytes_[1:]
    else:
        inputs, labels = fixed([batch] + shape), torch.arange(batch) % classes
    loss = nn.functional.cross_entropy(net(inputs), labels)
    loss.backward()
    lines.append(f"loss {f32(loss.item())}")
    for key, value in net.named_parameters():
        lines.append(f"grad {key} {f32(torch.linalg.vector_norm(value.grad).item())} {bits(value.grad.flatten()[:2])}")
    for key, value in net.named_buffers():
        if value.dtype == torch.float32:
            lines.append(f"buffer {key} {bits(value.flatten()[:2])}")
    write(f"{name}.txt", ["init NAME sum(f64) first two; loss; grad NAME norm first two; buffer NAME first two",
                          f"batch {batch}, seed 7, one thread"], lines)


class SmallMlp(nn.Module):
    """The trainer's mlp of 4 x 4 images, 8 wide, without dropout."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 8)
        self.norm = nn.BatchNorm1d(8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 10)

    def forward(self, images):
        x = torch.relu(self.norm(self.fc1(images.flatten(1)).float()))
        return self.fc3(torch.relu(self.fc2(x))).float()


def small_training():
    net = SmallMlp()
    parameters = list(net.parameters())
    optimizer = torch.optim.AdamW([
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}], lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=4)
    return net, optimizer, scheduler, scaler


def train(net, optimizer, scheduler, scaler, step, images, labels):
    """One step in fp16; its line of a fixture: step, loss, scale after it."""
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(net(images), labels)
    before = scaler.get_scale()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() >= before:
        scheduler.step()
    return f"{step} {f32(loss.item())} {f32(scaler.get_scale())}"


def first_batches():
    """The batches that the trainer begins with: images, labels."""
    rows = [line.split() for line in open(OUT / "first_batches.txt") if not line.startswith("#")]
    for i in range(0, len(rows), 8):
        labels = torch.tensor([int(row[0]) for row in rows[i:i + 8]])
        images = torch.tensor([struct.unpack(">f", bytes.fromhex(x))[0] for row in rows[i:i + 8] for x in row[1:]])
        yield images.reshape(8, 1, 4, 4), labels


def continuation_with_sgd():
    """A training dict without scheduler and scaler, in fp32, and what Python does next."""
    torch.manual_seed(12)
    net = SmallMlp()
    parameters = list(net.parameters())
    optimizer = torch.optim.SGD([
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
        lr=0.05, momentum=0.9, nesterov=True)
    lines = []
    batches = [(fixed([8, 1, 4, 4], seed=step), torch.arange(8)) for step in range(1, 5)] + list(first_batches())
    for step, (images, labels) in enumerate(batches):
        if step == 4:
            torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                       OUT / "continue_from_python_sgd.pt")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        if step >= 4:
            lines.append(f"{step + 1} {f32(loss.item())}")
    write("continue_in_trainer_sgd.txt", ["step, loss; from continue_from_python_sgd.pt on first_batches.txt"], lines)


def continuation_on_the_trainers_data():
    """What Python does next from that file on the batches that the trainer begins with."""
    net, optimizer, scheduler, scaler = small_training()
    state = torch.load(OUT / "continue_from_python.pt", weights_only=True)
    for part, key in ((net, "model"), (optimizer, "optimizer"), (scheduler, "scheduler"), (scaler, "scaler")):
        part.load_state_dict(state[key])
    lines = [train(net, optimizer, scheduler, scaler, state["step"] + i + 1, *batch)
             for i, batch in enumerate(first_batches())]
    write("continue_in_trainer.txt", ["step, loss, scale after it; from continue_from_python.pt on first_batches.txt"],
          lines)


def continuation():
    """A training dict of Python's own, in the middle of a run in fp16, and the losses that follow."""
    torch.manual_seed(11)
    net, optimizer, scheduler, scaler = small_training()
    losses = []
    for step in range(12):
        if step == 7:
            state = {"model": net.state_dict(), "optimizer": optimizer.state_dict(),
                     "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(), "step": step}
            torch.save(state, OUT / "continue_from_python.pt")
        batch = fixed([8, 1, 4, 4], seed=step + 1), torch.arange(8)
        losses.append(train(net, optimizer, scheduler, scaler, step + 1, *batch))
    write("continue_from_python.txt", ["step, loss, scale after it; continue_from_python.pt is before step 8"], losses)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows = gradients()
    write("gradients.txt", ["8 gradients of each of 200 steps, before scaling"], [bits(r) for r in rows])
    optimizers(rows)
    schedule()
    schedules()
    continuation()
    continuation_on_the_trainers_data()
    continuation_with_sgd()
    model("convnet", ConvNet, 4, [1, 28, 28], 10)
    model("resnet18", lambda: ResNet18(1000), 2, [3, 64, 64], 1000)
    model("gpt", lambda: Gpt(256, 32, 2, 4, 16), 4, [16], 256, text=True)
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", file=sys.stderr)


if __name__ == "__main__":
    main()
