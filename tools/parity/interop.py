"""Files of the real Python packages, and what they hold, for the tests of format/interop.

    tools/parity/run.sh interop            writes the fixtures of format/interop/fixtures
    tools/parity/run.sh interop check      opens the files that this project wrote (written_by_reprise.pt,
                                           exported_seed_example.pt) with torch.load(weights_only=True)
                                           and goes on training from the second, bit for bit
    tools/parity/run.sh interop FILE...    reads such files (or safetensors) and prints them

refused_NAME.pt are what `ckpt import` must refuse (tools/ckpt:interop_verbs_test). Beside each other NAME.pt or NAME.safetensors lies NAME.txt: one line for each value, in order: its path, kind
and exact contents (bits of numbers, bytes of tensors). The C++ tests print what they read in the same
way and compare the lines.
"""

import argparse
import collections
import os
import struct
import sys

import numpy
import torch
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, '..', '..', 'format', 'interop', 'fixtures')

DTYPES = {
    torch.float64: 'f64', torch.float32: 'f32', torch.float16: 'f16', torch.bfloat16: 'bf16',
    torch.int64: 'i64', torch.uint64: 'u64', torch.int32: 'i32', torch.uint32: 'u32',
    torch.int16: 'i16', torch.uint16: 'u16', torch.int8: 'i8', torch.uint8: 'u8', torch.bool: 'bool',
    torch.float8_e4m3fn: 'f8e4m3fn', torch.float8_e5m2: 'f8e5m2', torch.complex64: 'c64',
    torch.complex128: 'c128',
}


def bits(tensor):
    """Row-major bytes of a tensor, in hexadecimal."""
    flat = tensor.detach().contiguous().reshape(-1)
    if flat.numel() == 0:
        return ''
    return bytes(flat.view(torch.uint8).tolist()).hex()


def lines(value, path=''):
    """One line for each value below `value`."""
    if isinstance(value, torch.Tensor):
        shape = ','.join(str(n) for n in value.shape)
        yield '%s tensor %s [%s] %s' % (path, DTYPES[value.dtype], shape, bits(value))
    elif isinstance(value, dict):
        yield '%s dict %d' % (path, len(value))
        for key, item in value.items():
            yield from lines(item, '%s/%s' % (path, key))
    elif isinstance(value, (list, tuple)):
        yield '%s %s %d' % (path, 'tuple' if isinstance(value, tuple) else 'list', len(value))
        for index, item in enumerate(value):
            yield from lines(item, '%s/%d' % (path, index))
    elif value is None:
        yield '%s none' % path
    elif isinstance(value, bool):
        yield '%s bool %d' % (path, value)
    elif isinstance(value, int):
        yield '%s int %d' % (path, value)
    elif isinstance(value, float):
        yield '%s real %s' % (path, struct.pack('>d', value).hex())
    else:
        yield '%s text %s' % (path, value)


def say(name, value):
    with open(os.path.join(FIXTURES, name + '.txt'), 'w') as out:
        out.writelines(line + '\n' for line in lines(value))


def save(name, value, **how):
    """A file of torch.save and its description; storages are written as little-endian CPU bytes."""
    torch.save(value, os.path.join(FIXTURES, name + '.pt'), **how)
    say(name, value)


class Small(torch.nn.Module):
    """A convolution with batch norm and a linear layer: the seed example's state in small."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm2d(2)
        self.fc = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.conv(x))).flatten(1))


class Tied(torch.nn.Module):
    """Embedding and head share a weight, as in nanoGPT."""

    def __init__(self):
        super().__init__()
        self.wte = torch.nn.Embedding(5, 4)
        self.ln = torch.nn.LayerNorm(4)
        self.mlp = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 5, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        return self.head(self.mlp(self.ln(self.wte(ids))))


def train(model, optimizer, scheduler, scaler, steps, overflow_at=None):
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 1, 4, 4)).square().mean()
        scaler.scale(loss).backward()
        if step == overflow_at:
            model.fc.weight.grad[0, 0] = float('inf')
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


def small_parts():
    model = Small()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    scaler = torch.amp.GradScaler('cpu', init_scale=1024.0, growth_interval=3)
    return model, optimizer, scheduler, scaler


def state_of(model, optimizer, scheduler, scaler):
    return {'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
            'scheduler': scheduler.state_dict(), 'scaler': scaler.state_dict()}


def seed_example():
    """{model, optimizer, scheduler, scaler, step} after five steps of Adam, one of them skipped."""
    torch.manual_seed(1)
    parts = small_parts()
    train(*parts, steps=5, overflow_at=2)
    return dict(state_of(*parts), step=5)


def nanogpt():
    """{model, optimizer, model_args, iter_num, best_val_loss, config}, two groups by dimensions."""
    torch.manual_seed(2)
    model = Tied()
    parameters = list(model.parameters())
    groups = [{'params': [p for p in parameters if p.dim() >= 2], 'weight_decay': 0.1},
              {'params': [p for p in parameters if p.dim() < 2], 'weight_decay': 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95))
    for _ in range(3):
        optimizer.zero_grad()
        ids = torch.randint(5, (2, 3))
        torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
    return {'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
            'model_args': {'n_layer': 1, 'n_embd': 4, 'bias': True, 'vocab_size': None},
            'iter_num': 3, 'best_val_loss': torch.tensor(1.5),
            'config': {'dataset': 'shakespeare_char', 'learning_rate': 6e-4, 'compile': False}}


def tied_masters():
    """A model with a tied weight in bf16, and fp32 masters under every name of the state dict."""
    torch.manual_seed(5)
    model = Tied()
    wide = {name: t.clone() for name, t in model.state_dict().items()}
    wide['head.weight'] = wide['wte.weight']
    return {'model': model.bfloat16().state_dict(), 'master': wide, 'step': 0}


def everything():
    """Each element type, views of one storage, and each kind of value."""
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    values = {DTYPES[dtype]: torch.tensor([0, 1, 1], dtype=torch.uint8).to(dtype) for dtype in DTYPES}
    special = torch.tensor([0x7fc12345, 0x00000001, -0x80000000, 0x7f800000],
                           dtype=torch.int32).view(torch.float32)
    return {'dtypes': values, 'base': base, 'transposed': base.t(), 'rows': base[1:3],
            'every_other': base[:, ::2], 'channels_last':
            torch.arange(16.).reshape(1, 4, 2, 2).contiguous(memory_format=torch.channels_last),
            'special_floats': special, 'scalar': torch.tensor(7), 'nothing': torch.zeros(3, 0, 2),
            'parameter': torch.nn.Parameter(torch.ones(2)), 'size': torch.Size([2, 3]),
            'counter': collections.Counter([3, 3, 4]), 'none': None, 'yes': True, 'no': False,
            'int': 5, 'negative': -129, 'big': 1 << 40, 'seed': (1 << 64) - 1, 'real': 0.1,
            'text': 'caf\u00e9', 'list': [1, [2.5, 'x'], ()], 'numbered': {0: 'a', 300: 'b'}}


def refused():
    """Name -> what no importer can take for plain state, or lacks what it must have."""
    torch.manual_seed(4)
    model, optimizer, scheduler, scaler = small_parts()
    train(model, optimizer, scheduler, scaler, steps=2)
    whole = state_of(model, optimizer, scheduler, scaler)
    base = torch.arange(6.)

    def without(part, key):
        return dict(whole, **{part: {k: v for k, v in whole[part].items() if k != key}})

    halves = {'a': torch.ones(2, 2, dtype=torch.bfloat16), 'b': torch.ones(2, 2, dtype=torch.bfloat16)}
    return {
        'dtype': {'model': {'w': torch.zeros(2, dtype=torch.float8_e8m0fnu)}},
        'sparse': {'model': {'w': torch.eye(2).to_sparse()}},
        'quantized': {'model': {'w': torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}},
        'class': dict(whole, args=argparse.Namespace(lr=0.1)),
        'whole_model': {'model': torch.nn.Linear(2, 2)},
        'views': {'model': {'all': base, 'part': base[2:]}},
        'transposed_view': {'model': {'w': base.reshape(2, 3), 'w_t': base.reshape(2, 3).t()}},
        'no_model': {'optimizer': whole['optimizer'], 'step': 2},
        'no_param_groups': without('optimizer', 'param_groups'),
        'no_growth_tracker': without('scaler', '_growth_tracker'),
        'no_moment_shape': dict(whole, model=torch.nn.Linear(3, 2).state_dict()),
        'one_master': {'model': halves, 'master': {'a': torch.ones(2, 2)}},
        'master_of_another_shape': {'model': halves, 'master': {'a': torch.ones(4), 'b': torch.ones(2, 2)}},
        'two_masters_of_a_tie': dict(tied_masters(), master={
            name: t.clone() for name, t in tied_masters()['master'].items()}),
        'master_of_nothing': {'model': halves, 'master': {'c': torch.ones(2, 2)}},
        'masters_by_position': {'model': halves, 'master': [torch.ones(2, 2), torch.ones(2, 2)]},
    }


def write():
    os.makedirs(FIXTURES, exist_ok=True)
    save('seed_example', seed_example())
    save('nanogpt', nanogpt())
    save('tied_masters', tied_masters())
    save('everything', everything())
    save('everything_protocol5', everything(), pickle_protocol=5)
    torch.manual_seed(3)
    save('state_dict', Small().state_dict())
    torch.save({'w': torch.ones(2)}, os.path.join(FIXTURES, 'before_torch_1_6.pt'),
               _use_new_zipfile_serialization=False)
    torch.save({'loss': numpy.float32(1)}, os.path.join(FIXTURES, 'numpy_scalar.pt'))
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), os.path.join(FIXTURES, 'torchscript.pt'))
    for name, value in refused().items():
        torch.save(value, os.path.join(FIXTURES, 'refused_%s.pt' % name))
    tensors = {name: t for name, t in everything()['dtypes'].items() if name != 'c128'}
    tensors['matrix'] = torch.arange(6.).reshape(2, 3)
    tensors['nothing'] = torch.zeros(0, 2)
    save_file(tensors, os.path.join(FIXTURES, 'everything.safetensors'), metadata={'format': 'pt'})
    say('everything_safetensors', dict(sorted(tensors.items())))


def check():
    written = torch.load(os.path.join(FIXTURES, 'written_by_reprise.pt'), weights_only=True)
    with open(os.path.join(FIXTURES, 'everything.txt')) as expected:
        assert list(lines(written)) == expected.read().splitlines(), 'written_by_reprise.pt differs'

    def go_on(name):
        state = torch.load(os.path.join(FIXTURES, name), weights_only=True)
        parts = small_parts()
        for part, key in zip(parts, ('model', 'optimizer', 'scheduler', 'scaler')):
            part.load_state_dict(state[key])
        torch.manual_seed(9)
        train(*parts, steps=4)
        return {key: value for key, value in state_of(*parts).items() if key != 'optimizer'}, [
            line for line in lines(parts[1].state_dict()['state'])]

    assert state_lines(go_on('exported_seed_example.pt')) == state_lines(go_on('seed_example.pt')), (
        'training goes on differently from exported_seed_example.pt')
    print('written_by_reprise.pt holds what everything.pt holds; four steps after '
          'exported_seed_example.pt are the bits of four steps after seed_example.pt')


def state_lines(value):
    return list(lines(value))


def read(paths):
    for path in paths:
        value = (dict(sorted(load_file(path).items())) if path.endswith('.safetensors')
                 else torch.load(path, weights_only=True))
        for line in lines(value):
            print(line)


if __name__ == '__main__':
    if sys.argv[1:] == ['check']:
        check()
    elif len(sys.argv) > 1:
        read(sys.argv[1:])
    else:
        write()
