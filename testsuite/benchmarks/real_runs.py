# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short runs of public libraries, as people start them: what StreamSan costs where nobody waits for a steady state.

usage: real_runs.py NAME [--steps N]

Each trains or computes for some tens of steps with a library's own loop, loader or compiler; the weights and the data are
random, nothing is downloaded. The host waits at the end of each step, as loops that print a loss do. Prints one line of
JSON: {"steps_ms": [...], "result": ...}; `result` is a number that both runs, with StreamSan and without, must agree on.
"""

import argparse
import json
import time

STEPS = {}


def program(steps):
    """Declares one of the programs; it yields once for each of its steps, and at last its result."""
    def declare(function):
        STEPS[function.__name__] = (function, steps)
        return function
    return declare


def train(model, optimizer, loss_of, batches, steps, scaler=None):
    """The loop of PyTorch's own tutorials."""
    import torch

    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16, enabled=scaler is not None):
            loss = loss_of(model, batch)
        if scaler:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        yield loss.item()
        steps -= 1
        if steps == 0:
            return


def images(count, size, side):
    """A loader of batches of random 8-bit images, in pinned memory, as timm's collation makes them."""
    import torch

    data = torch.utils.data.TensorDataset(torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8),
                                          torch.randint(0, 10, (count,)))
    return torch.utils.data.DataLoader(data, batch_size=size, pin_memory=True)


@program(40)
def timm_prefetcher(steps):
    """ResNet-18, mixed precision, timm's loader that brings batches in on a stream of its own."""
    import timm
    import torch
    from timm.data.loader import PrefetchLoader

    model = timm.create_model("resnet18", num_classes=10).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = PrefetchLoader(images(32 * steps, 32, 128), device=torch.device("cuda"))
    yield from train(model, optimizer, lambda net, batch: torch.nn.functional.cross_entropy(net(batch[0]), batch[1]),
                     loader, steps, torch.amp.GradScaler("cuda"))


@program(40)
def pyg_prefetcher(steps):
    """A graph network of PyTorch Geometric with its prefetching loader."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader, PrefetchLoader
    from torch_geometric.nn import GCNConv, global_mean_pool

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.out = GCNConv(32, 128), GCNConv(128, 128), torch.nn.Linear(128, 4)

        def forward(self, data):
            x = self.first(data.x, data.edge_index).relu()
            x = self.second(x, data.edge_index).relu()
            return self.out(global_mean_pool(x, data.batch))

    graphs = [Data(x=torch.randn(200, 32), edge_index=torch.randint(0, 200, (2, 800)), y=torch.randint(0, 4, (1,)))
              for _ in range(16 * steps)]
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = PrefetchLoader(DataLoader(graphs, batch_size=16, pin_memory=True), device=torch.device("cuda"))
    yield from train(model, optimizer, lambda net, data: torch.nn.functional.cross_entropy(net(data), data.y), loader,
                     steps)


@program(40)
def gpt2(steps):
    """A small GPT-2 of Transformers."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=6, n_head=8, n_embd=256, vocab_size=8000, n_positions=256)
    model = GPT2LMHeadModel(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = [torch.randint(0, 8000, (8, 256)) for _ in range(steps)]
    yield from train(model, optimizer, lambda net, ids: net(input_ids=ids.cuda(), labels=ids.cuda()).loss, batches,
                     steps)


@program(60)
def compiled(steps):
    """torch.compile with CUDA graphs (mode reduce-overhead), inference."""
    import torch

    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.GELU())])
    run = torch.compile(model.cuda().eval(), mode="reduce-overhead")
    with torch.no_grad():
        for index in range(steps):
            batch = torch.full((64, 512), float(index % 7), device="cuda")
            yield run(batch).sum().item()


@program(60)
def lightning_fit(steps):
    """A classifier fitted by Lightning's Trainer."""
    import logging
    import warnings

    import lightning
    import torch

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    ends = []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def on_train_batch_end(self, outputs, *_):
            ends.append((time.perf_counter(), outputs["loss"].item()))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    data = torch.utils.data.TensorDataset(torch.randn(64 * steps, 256), torch.randint(0, 10, (64 * steps,)))
    trainer = lightning.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True))
    for at, loss in ends:
        yield loss, at


@program(40)
def cupy_streams(steps):
    """CuPy: four streams, each with arrays of its own, joined by events."""
    import cupy

    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
    inputs = [cupy.random.rand(1 << 20, dtype=cupy.float32) for _ in streams]
    cupy.cuda.Device().synchronize()
    for _ in range(steps):
        parts = []
        for stream, values in zip(streams, inputs):
            with stream:
                parts.append(cupy.sqrt(values * values + 1).sum())
        for stream in streams:
            cupy.cuda.Stream.null.wait_event(stream.record())
        total = float(sum(parts))
        for stream in streams:
            stream.wait_event(cupy.cuda.Stream.null.record())
        yield total


@program(60)
def jax_mlp(steps):
    """JAX and optax: a jitted training step."""
    import jax
    import jax.numpy as jnp
    import optax

    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    parameters = [jax.random.normal(keys[0], (256, 512)) * 0.05, jax.random.normal(keys[1], (512, 10)) * 0.05]
    x, y = jax.random.normal(keys[2], (128, 256)), jax.random.randint(keys[3], (128,), 0, 10)
    optimizer = optax.adam(1e-3)
    state = optimizer.init(parameters)

    def loss_of(p):
        return optax.softmax_cross_entropy_with_integer_labels(jnp.tanh(x @ p[0]) @ p[1], y).mean()

    @jax.jit
    def step(p, s):
        loss, gradients = jax.value_and_grad(loss_of)(p)
        updates, s = optimizer.update(gradients, s)
        return optax.apply_updates(p, updates), s, loss

    for _ in range(steps):
        parameters, state, loss = step(parameters, state)
        yield float(loss)


@program(40)
def vit_side_stream(steps):
    """A vision transformer of torchvision; the next batch is copied on a side stream, with record_stream."""
    import torch
    import torchvision

    model = torchvision.models.VisionTransformer(image_size=64, patch_size=8, num_layers=4, num_heads=4, hidden_dim=128,
                                                 mlp_dim=256, num_classes=10).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    side = torch.cuda.Stream()

    def fetched():
        following = None
        for batch in images(32 * (steps + 1), 32, 64):
            with torch.cuda.stream(side):
                brought = [part.to("cuda", non_blocking=True) for part in batch]
            if following is not None:
                yield following
            torch.cuda.current_stream().wait_stream(side)
            for part in brought:
                part.record_stream(torch.cuda.current_stream())
            following = brought

    yield from train(model, optimizer,
                     lambda net, batch: torch.nn.functional.cross_entropy(net(batch[0].float() / 255), batch[1]),
                     fetched(), steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(STEPS))
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    function, steps = STEPS[options.name]
    if options.name not in ("cupy_streams", "jax_mlp"):
        import torch

        torch.manual_seed(1)
    times, result, before = [], None, time.perf_counter()
    for step in function(options.steps or steps):
        result, now = step if isinstance(step, tuple) else (step, time.perf_counter())
        times.append(round((now - before) * 1e3, 3))
        before = now
    print(json.dumps({"steps_ms": times, "result": result}))


main()
