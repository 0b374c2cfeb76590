# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All-reduce and all-gather through NCCL in a world of one process: NCCL's own stream, kernels, copies and events.

A plain sum over one process is nothing at all; a sum that scales first is a kernel of NCCL's library.

usage: torch_nccl.py [--measured]
"""

import os
import socket
import sys

import torch
import torch.distributed as dist

from measured_end import measured_end


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_SOCKET_IFNAME="lo")
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    x = torch.ones(1 << 20, device="cuda")
    half = dist._make_nccl_premul_sum(0.5)
    for _ in range(10):
        dist.all_reduce(x, op=half)
    gathered = torch.empty_like(x)
    dist.all_gather_into_tensor(gathered, x)
    works = [dist.all_reduce(x, async_op=True) for _ in range(5)]
    for work in works:
        work.wait()
    torch.cuda.synchronize()
    if abs(gathered[0].item() - 0.5**10) > 1e-9:
        sys.exit("wrong result")
    torch.cuda.synchronize()
    measured_end()
    dist.destroy_process_group()


main()
