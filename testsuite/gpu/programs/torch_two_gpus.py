# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch with two GPUs in one process.

  moves      tensors go to the other GPU and back, also without waiting for them: PyTorch orders the streams of both
  parallel   torch.nn.DataParallel: replicas by NCCL, a thread for each GPU, results gathered
  side       a result goes to a side stream of the other GPU, which does not wait for the copy; with --fixed it does

usage: torch_two_gpus.py VARIANT [--fixed]
"""

import sys

import torch

HERE, THERE = torch.device("cuda", 0), torch.device("cuda", 1)
SIDE = 1024
ROUNDS = 20


def wait_for_both():
    for device in (HERE, THERE):
        torch.cuda.synchronize(device)


def moves():
    x = torch.ones(SIDE, SIDE, device=HERE)
    for _ in range(ROUNDS):
        y = (x + 1).to(THERE, non_blocking=True)
        x = (y - 1).to(HERE, non_blocking=True)
    return x, 1.0


def parallel():
    torch.manual_seed(0)
    net = torch.nn.DataParallel(torch.nn.Linear(SIDE, SIDE).to(HERE), device_ids=[0, 1])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        net(torch.ones(64, SIDE, device=HERE)).sum().backward()
        optimizer.step()
    return net.module.bias.grad, 64.0


def side():
    stream = torch.cuda.Stream(THERE)
    x = torch.ones(SIDE, SIDE, device=HERE)
    wait_for_both()
    y = x.to(THERE, non_blocking=True)  # site: move
    if "--fixed" in sys.argv:
        stream.wait_stream(torch.cuda.current_stream(THERE))
    with torch.cuda.stream(stream):
        z = y * 3  # site: use
    wait_for_both()
    return z, 3.0


def main():
    result, expected = {"moves": moves, "parallel": parallel, "side": side}[sys.argv[1]]()
    wait_for_both()
    if "--fixed" in sys.argv or sys.argv[1] != "side":
        if not torch.allclose(result, torch.full_like(result, expected)):
            sys.exit("wrong result")


main()
