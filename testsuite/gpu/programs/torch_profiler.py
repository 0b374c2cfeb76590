# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training loop, a part of which torch.profiler looks at. Prints how many kernels it has found."""

import torch
from torch.profiler import ProfilerActivity, profile

WIDTH = 512


def main():
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    upload = torch.cuda.Stream()

    def step():
        host = torch.randn(256, WIDTH).pin_memory()
        with torch.cuda.stream(upload):
            batch = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(upload)
        batch.record_stream(torch.cuda.current_stream())
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(10):
            step()
        torch.cuda.synchronize()
    found = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print(len(found), "kernels")


main()
