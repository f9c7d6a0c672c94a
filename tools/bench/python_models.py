"""The reference trainer's models in Python, layer by layer, for step_time.

Each leaves autocast where the C++ one does: convolutions, and gpt's attention,
of an fp16 run on the CPU compute in fp32.
"""

import contextlib
import math

import torch
from torch import nn
from torch.nn import functional

HIDDEN = 128


def full_precision(leave):
    return torch.autocast("cpu", enabled=False) if leave else contextlib.nullcontext()


class Mlp(nn.Module):
    """trainer/model/mlp.cc"""

    def __init__(self, dtype):
        super().__init__()
        self.fc1 = nn.Linear(784, HIDDEN)
        self.norm = nn.BatchNorm1d(HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.dropout = nn.Dropout(0.25)
        self.fc3 = nn.Linear(HIDDEN, 10)

    def forward(self, x):
        x = functional.relu(self.norm(self.fc1(x.flatten(1)).float()))
        x = self.dropout(functional.relu(self.fc2(x)))
        return self.fc3(x).float()


class ConvNet(nn.Module):
    """trainer/model/convnet.cc"""

    def __init__(self, dtype):
        super().__init__()
        self.leave_autocast = dtype == torch.float16
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 7 * 7, HIDDEN)
        self.dropout = nn.Dropout(0.25)
        self.fc2 = nn.Linear(HIDDEN, 10)

    def forward(self, x):
        with full_precision(self.leave_autocast):
            x = functional.max_pool2d(functional.relu(self.norm1(self.conv1(x))), 2)
            x = functional.max_pool2d(functional.relu(self.norm2(self.conv2(x))), 2)
        x = self.dropout(functional.relu(self.fc1(x.flatten(1))))
        return self.fc2(x).float()


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        inner = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        return functional.relu(inner + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """trainer/model/resnet.cc"""

    def __init__(self, dtype):
        super().__init__()
        self.leave_autocast = dtype == torch.float16
        self.conv1 = nn.Conv2d(1, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        self.layers = nn.Sequential(*[
            nn.Sequential(Block(inside, outside, stride), Block(outside, outside, 1))
            for inside, outside, stride in sizes])
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        with full_precision(self.leave_autocast):
            x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            x = functional.adaptive_avg_pool2d(self.layers(x), 1).flatten(1)
        return self.fc(x).float()


class Attention(nn.Module):
    def __init__(self, dtype, width, heads, dropout):
        super().__init__()
        self.leave_autocast = dtype == torch.float16
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x, future):
        batch, length, width = x.shape
        qkv = self.c_attn(x).view(batch, length, 3, self.heads, width // self.heads)
        qkv = qkv.permute(2, 0, 3, 1, 4)
        with full_precision(self.leave_autocast):
            if self.leave_autocast:
                qkv = qkv.float()
            q, k, v = qkv
            weights = torch.matmul(q, k.transpose(-2, -1)) * (1 / math.sqrt(width // self.heads))
            weights = weights.masked_fill(future, -math.inf)
            weights = self.attn_dropout(torch.softmax(weights, -1))
            y = torch.matmul(weights.to(qkv.dtype), v)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(batch, length, width)))


class FeedForward(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh")))


class GptBlock(nn.Module):
    def __init__(self, dtype, width, heads, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(dtype, width, heads, dropout)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = FeedForward(width, dropout)

    def forward(self, x, future):
        x = x + self.attn(self.ln_1(x), future)
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """trainer/model/gpt.cc with the trainer's default sizes"""

    def __init__(self, dtype, length=128, layers=4, heads=4, dropout=0.1):
        super().__init__()
        self.wte = nn.Embedding(256, HIDDEN)
        self.wpe = nn.Embedding(length, HIDDEN)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([GptBlock(dtype, HIDDEN, heads, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(HIDDEN)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, tokens):
        length = tokens.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.drop((self.wte(tokens) + self.wpe(torch.arange(length))).float())
        for block in self.h:
            x = block(x, future)
        return functional.linear(self.ln_f(x), self.wte.weight).float()


MODELS = {"mlp": Mlp, "convnet": ConvNet, "resnet18": ResNet18, "gpt": Gpt}
