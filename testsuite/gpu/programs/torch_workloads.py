# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correct programs as people write them with PyTorch, 200 steps each: nothing may be reported.

usage: torch_workloads.py WORKLOAD
"""

import sys

import torch
from torch import nn

STEPS = 200
WIDTH = 256


def encoder():
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()


class Prefetcher:
    """Brings the next batch to the device on a stream of its own while the present one is used."""

    def __init__(self, steps):
        self.left, self.stream, self.next = steps, torch.cuda.Stream(), None
        self.preload()

    def preload(self):
        if self.left == 0:
            self.next = None
            return
        self.left -= 1
        host = torch.randn(16, 32, WIDTH).pin_memory()
        with torch.cuda.stream(self.stream):
            self.next = host.to("cuda", non_blocking=True)

    def __iter__(self):
        while self.next is not None:
            main = torch.cuda.current_stream()
            main.wait_stream(self.stream)
            batch = self.next
            batch.record_stream(main)
            self.preload()
            yield batch


def mixed_precision():
    """A transformer, automatic mixed precision, a scaler, a prefetcher."""
    model = encoder()
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cuda")
    for batch in Prefetcher(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return loss


def captured_step():
    """The whole training step as one CUDA graph, its input refilled before each replay."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    batch = torch.zeros(64, WIDTH, device="cuda")

    def step():
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(STEPS):
        batch.copy_(torch.randn(64, WIDTH).pin_memory(), non_blocking=True)
        graph.replay()
    return loss


def graphed_callables():
    """Forward and backward pass as graphs, by make_graphed_callables."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model = torch.cuda.make_graphed_callables(model, (torch.randn(64, WIDTH, device="cuda"),))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(64, WIDTH, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    return loss


def compiled():
    """torch.compile with CUDA graphs."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    fast = torch.compile(model, mode="reduce-overhead")
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = fast(torch.randn(64, WIDTH, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    return loss


def static_cache():
    """Generation, a token at a time, with keys and values in a cache of fixed size; the step is a CUDA graph."""
    length, heads, size = STEPS, 4, WIDTH // 4
    project = nn.Linear(WIDTH, 3 * WIDTH, bias=False).cuda()
    keys = torch.zeros(1, heads, length, size, device="cuda")
    values = torch.zeros_like(keys)
    token, position = torch.randn(1, 1, WIDTH, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    places = torch.arange(length, device="cuda")

    def step():
        q, k, v = project(token).view(1, 1, 3, heads, size).permute(2, 0, 3, 1, 4)
        keys.index_copy_(2, position, k)
        values.index_copy_(2, position, v)
        mask = (places <= position).view(1, 1, 1, length)
        out = nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        token.copy_(torch.tanh(out.transpose(1, 2).reshape(1, 1, WIDTH)))
        position.add_(1)

    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        position.fill_(1)
        written = []
        for _ in range(STEPS - 1):
            graph.replay()
            written.append(token.clone())
    return torch.stack(written)


def pipeline():
    """Two stages on two GPUs, four micro-batches of each step on their way."""
    first = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()).to("cuda:0")
    second = nn.Linear(WIDTH, WIDTH).to("cuda:1")
    optimizers = [torch.optim.SGD(stage.parameters(), lr=0.01) for stage in (first, second)]
    for _ in range(STEPS):
        losses = []
        for part in torch.randn(64, WIDTH, device="cuda:0").chunk(4):
            losses.append(second(first(part).to("cuda:1", non_blocking=True)).square().mean())
        for loss in losses:
            loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    return losses[-1]


def main():
    workloads = {f.__name__: f for f in (mixed_precision, captured_step, graphed_callables, compiled, static_cache, pipeline)}
    torch.manual_seed(0)
    result = workloads[sys.argv[1]]()
    torch.cuda.synchronize()
    if not torch.isfinite(result).all():
        sys.exit("wrong result")


main()
