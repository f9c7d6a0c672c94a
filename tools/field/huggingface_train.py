"""A training script as the documentation of transformers' Trainer shows it: a small GPT-2 on a text.

Nothing in it is made for the harness, but that it logs every step and takes its sizes from the command
line.
"""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Windows(torch.utils.data.Dataset):
    """Overlapping windows of the bytes of a text."""

    def __init__(self, path, size):
        with open(path, 'rb') as file:
            self.text = torch.tensor(list(file.read()), dtype=torch.long)
        self.size = size

    def __len__(self):
        return (len(self.text) - self.size) // 16

    def __getitem__(self, index):
        window = self.text[16 * index:16 * index + self.size]
        return {'input_ids': window, 'labels': window}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--output_dir', required=True)
    parser.add_argument('--text', required=True)
    parser.add_argument('--max_steps', type=int, required=True)
    parser.add_argument('--save_steps', type=int, required=True)
    parser.add_argument('--seed', type=int, default=42)
    parser.add_argument('--dropout', type=float, default=0.1)
    parser.add_argument('--accumulation', type=int, default=1)
    parser.add_argument('--ignore_data_skip', action='store_true')
    parser.add_argument('--save_only_model', action='store_true')
    parser.add_argument('--resume_from_checkpoint')
    options = parser.parse_args()
    set_seed(options.seed)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=2, resid_pdrop=options.dropout,
        embd_pdrop=options.dropout, attn_pdrop=options.dropout))
    arguments = TrainingArguments(
        output_dir=options.output_dir, max_steps=options.max_steps, save_steps=options.save_steps,
        per_device_train_batch_size=8, gradient_accumulation_steps=options.accumulation, logging_steps=1,
        learning_rate=1e-3, warmup_steps=10, seed=options.seed, use_cpu=True, report_to=[],
        ignore_data_skip=options.ignore_data_skip, save_only_model=options.save_only_model)
    trainer = Trainer(model=model, args=arguments, train_dataset=Windows(options.text, 64))
    trainer.train(resume_from_checkpoint=options.resume_from_checkpoint)


if __name__ == '__main__':
    main()
