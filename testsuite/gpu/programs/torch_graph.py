# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch CUDA graphs: warm-up on a side stream, capture, twenty replays with new input. Correct, so silent.

usage: torch_graph.py [--measured]
"""

import sys

import torch

from measured_end import measured_end

SIDE = 512


def main():
    model = torch.nn.Sequential(torch.nn.Linear(SIDE, SIDE), torch.nn.ReLU(), torch.nn.Linear(SIDE, SIDE)).cuda()
    static_input = torch.zeros(64, SIDE, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(3):
                model(static_input)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            static_output = model(static_input)
        for step in range(20):
            static_input.fill_(step / 20)
            graph.replay()
        expected = model(static_input)
    torch.cuda.synchronize()
    if not torch.allclose(static_output, expected, atol=1e-3):
        sys.exit("wrong result")
    torch.cuda.synchronize()
    measured_end()


main()
