# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training by fully_shard (FSDP2), 200 steps: a process for each GPU, weights gathered and gradients scattered by NCCL on
streams of their own. Correct: nothing may be reported.

usage: torch_fsdp.py
"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard

STEPS = 200


def train(rank, world):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda() for _ in range(4)]
    net = torch.nn.Sequential(*(fully_shard(block) for block in blocks))
    fully_shard(net)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = net(torch.randn(64, 256, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss)
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(probe.getsockname()[1]), NCCL_SOCKET_IFNAME="lo")
    mp.spawn(train, (2,), 2)
