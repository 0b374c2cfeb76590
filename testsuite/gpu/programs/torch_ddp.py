# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training by DistributedDataParallel: a process for each GPU, gradients summed by NCCL while the backward pass runs.

usage: torch_ddp.py
"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

STEPS = 200


def train(rank, world):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())))
    net = torch.nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[rank])
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(torch.randn(64, 256, device="cuda")).square().mean().backward()
        optimizer.step()
    sums = torch.stack([p.detach().double().sum() for p in net.parameters()])
    total = sums.clone()
    dist.all_reduce(total)
    torch.cuda.synchronize()
    # Equal weights everywhere, whatever the batches were.
    assert torch.allclose(total, sums * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(probe.getsockname()[1]), NCCL_SOCKET_IFNAME="lo")
    mp.spawn(train, (2,), 2)
