#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What does recording cost a training step of PyTorch's, and which part of the recorder? Without a GPU.

    torch_parts.py LIBRARY --null DIR --torch PYTHON [--old LIBRARY] [--rounds N] [--steps N]

LIBRARY is libstreamsan.so, DIR the null driver's folder, PYTHON one that has PyTorch with CUDA 13. Kernels do nothing
on the null driver, and its calls cost next to nothing: what is left is the host's part of a step, which is where
recording costs. A step is four layers, AdamW, and a batch that is uploaded from pinned memory. There are no matrix
products, as cuBLAS does not start there. The library is preloaded alone, so no judge competes for the processors.

Printed for each kind: the median over the rounds of the step's processor time (of all threads, the median step), and of
that over the plain one beside it. The kinds take turns, and which is first changes from round to round.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PARTS = {"footprints=inferred": "", "stacks=0": "stacks=0", "python_stacks=0": "python_stacks=0",
         "torch_blocks=0": "torch_blocks=0", "host_threads=joined": "host_threads=joined",
         "no guards, frees": "host_guard=0,host_frees=0",
         "all of these": "stacks=0,torch_blocks=0,host_threads=joined,host_guard=0,host_frees=0"}
TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"


def train(steps):
    """Runs with PyTorch. Prints the median step in milliseconds of processor time."""
    import time

    import torch

    class Layer(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(width, width))
            self.bias = torch.nn.Parameter(torch.zeros(width))

        def forward(self, x):
            return (x.unsqueeze(1) * self.weight).sum(-1) + self.bias

    parts = [part for _ in range(4) for part in (Layer(64), torch.nn.GELU(), torch.nn.LayerNorm(64))]
    net = torch.nn.Sequential(*parts).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    taken = []
    for step in range(steps):
        began = time.process_time()
        batch = torch.randn(32, 64).pin_memory().to("cuda", non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = net(batch).square().mean()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            loss.item()
        taken.append(time.process_time() - began)
    print(statistics.median(taken) * 1000)


class Steps:
    """`null`, `python`: of the command line; `folder`: for what is built and recorded."""

    def __init__(self, null, python, steps, folder):
        sys.path.insert(0, str(TOOLS))
        import torch_on_null

        self.words = [python, __file__, "--train", str(steps)]
        self.folder = folder
        self.preloaded, folders = torch_on_null.prepare(folder, pathlib.Path(null).resolve())
        self.environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "1"}

    def milliseconds(self, library=None, options=""):
        environment = {**self.environment, "LD_PRELOAD": " ".join([*([library] if library else []), *self.preloaded])}
        trace = self.folder / "trace"
        if library:
            environment["STREAMSAN_OPTIONS"] = ",".join(filter(None, [f"trace_path={trace}", "footprints=inferred", options]))
        done = subprocess.run(self.words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"torch_parts.py: exit code {done.returncode}\n{done.stderr}")
        if library and not trace.exists():
            sys.exit(f"torch_parts.py: {library} has recorded nothing\n{done.stderr}")
        trace.unlink(missing_ok=True)
        return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?")
    parser.add_argument("--null", help="folder of the null driver")
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--old", help="another libstreamsan.so to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--train", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        return train(given.train)
    if not (given.library and given.null and given.torch):
        parser.error("LIBRARY, --null and --torch are needed")
    kinds = {"plain": (), **{name: (os.path.abspath(given.library), options) for name, options in PARTS.items()}}
    if given.old:
        kinds["by the old one"] = (os.path.abspath(given.old), "")
    taken = {name: [] for name in kinds}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        steps = Steps(given.null, given.torch, given.steps, pathlib.Path(folder))
        for number in range(given.rounds):
            names = list(kinds)
            for name in names[number % len(names):] + names[:number % len(names)]:
                taken[name].append(steps.milliseconds(*kinds[name]))
    for name, values in taken.items():
        over = statistics.median(value / plain for value, plain in zip(values, taken["plain"]))
        print(f"{name:24} {statistics.median(values):.3f} ms, {over:.3f} over plain")


if __name__ == "__main__":
    main()
