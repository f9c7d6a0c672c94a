"""A loop with the checkpoint of PyTorch's tutorial on saving and loading a general checkpoint: the
epoch, the model's, the optimizer's state dict and the loss; with a scheduler and a DataLoader that
shuffles. With --complete it also keeps the scheduler, the generators and the place in the epoch.
"""

import argparse
import os

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dir', required=True)
    parser.add_argument('--steps', type=int, required=True)
    parser.add_argument('--save-every', type=int, required=True)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--complete', type=int, default=0)
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    path = os.path.join(options.dir, 'state.ckpt')

    torch.manual_seed(options.seed)
    inputs = torch.randn(640, 20)
    targets = (inputs.square().sum(1) > 20).long()
    data = torch.utils.data.TensorDataset(inputs, targets)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Dropout(0.2),
                                torch.nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    order = torch.Generator()
    order.manual_seed(options.seed)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, generator=order)

    epoch, step, skip = 0, 0, 0
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state['model_state_dict'])
        optimizer.load_state_dict(state['optimizer_state_dict'])
        epoch, step = state['epoch'], state['step']
        if options.complete:
            scheduler.load_state_dict(state['scheduler_state_dict'])
            order.set_state(state['order_at_epoch_start'])
            skip = state['batches_of_epoch']
            rng = state['rng_state']
        print('resumed at step %d' % step, flush=True)

    while step < options.steps:
        order_at_epoch_start = order.get_state()
        for batch, (x, y) in enumerate(loader):
            if batch < skip:
                continue
            if skip and batch == skip:
                torch.set_rng_state(rng)
            skip = 0
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            lr = scheduler.get_last_lr()[0]
            scheduler.step()
            step += 1
            print('epoch %d step %d/%d loss %.9g lr %.9g' % (epoch, step, options.steps, loss.item(), lr),
                  flush=True)
            if step % options.save_every == 0 or step == options.steps:
                state = {'epoch': epoch, 'step': step, 'loss': loss.item(),
                         'model_state_dict': model.state_dict(),
                         'optimizer_state_dict': optimizer.state_dict()}
                if options.complete:
                    state.update(scheduler_state_dict=scheduler.state_dict(),
                                 order_at_epoch_start=order_at_epoch_start,
                                 batches_of_epoch=batch + 1, rng_state=torch.get_rng_state())
                torch.save(state, path + '.tmp')
                os.replace(path + '.tmp', path)
                print('saved step %d' % step, flush=True)
            if step == options.steps:
                break
        epoch += 1


if __name__ == '__main__':
    main()
