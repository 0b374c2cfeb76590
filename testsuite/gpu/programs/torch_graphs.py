# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch programs with CUDA graphs: races inside of a graph and around its launches, each with its repair. See pairs.py.
"""

import torch
from pairs import FIXED, ROUNDS, matrix, order, pinned, run


def captured(work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    torch.cuda.synchronize()
    return graph


def input_refilled_under_a_replay():
    """The static input is filled again on a copy stream while the replay before may still read it."""
    main, copies = torch.cuda.current_stream(), torch.cuda.Stream()
    static_input, total = matrix(0), matrix(0)
    batches = [pinned(i) for i in range(ROUNDS)]
    graph = captured(lambda: total.add_(static_input))
    total.zero_()
    torch.cuda.synchronize()
    for batch in batches:
        order(main, copies)
        with torch.cuda.stream(copies):
            static_input.copy_(batch, non_blocking=True)  # site: graph-refill
        main.wait_stream(copies)
        graph.replay()  # site: replay-reads
    return total, sum(range(ROUNDS))


def output_read_beside_a_replay():
    """The static output is read on another stream that has not waited for the replay."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    output = matrix(0)
    graph = captured(lambda: output.add_(1))
    output.zero_()
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        graph.replay()  # site: replay-writes
        order(main, side)
        with torch.cuda.stream(side):
            y = output * 2  # site: output-read
        main.wait_stream(side)
    return y, 2 * ROUNDS


def branches_without_an_edge():
    """Two streams are captured; the second one forks off before the work that it reads."""
    side = torch.cuda.Stream()
    x, y = matrix(1), matrix(0)

    def work():
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        x.add_(1)  # site: branch-write
        order(main, side)
        with torch.cuda.stream(side):
            torch.mul(x, 2, out=y)  # site: branch-read
        main.wait_stream(side)

    graph = captured(work)
    x.fill_(1)
    for _ in range(ROUNDS):
        graph.replay()
    return y, 2 * (1 + ROUNDS)


def two_graphs_share_a_buffer():
    """Two graphs with a common scratch buffer are replayed on two streams."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    scratch, a, b = matrix(0), matrix(0), matrix(0)

    def first():
        scratch.fill_(1)
        a.add_(scratch)

    def second():
        scratch.fill_(2)
        b.add_(scratch)

    one, two = captured(first), captured(second)
    a.zero_()
    b.zero_()
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        one.replay()  # site: first-replay
        order(main, side)
        with torch.cuda.stream(side):
            two.replay()  # site: second-replay
        order(side, main)
    torch.cuda.synchronize()
    return a + b, 3 * ROUNDS


def workspace_freed_after_capture():
    """The graph keeps the address of a tensor that is gone; its block belongs to another tensor by then."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    total = matrix(0)
    held = [matrix(1)]
    graph = captured(lambda: total.add_(held[0]))
    total.zero_()
    if not FIXED:
        held.clear()
    other = torch.empty_like(total)
    torch.cuda.synchronize()
    for step in range(ROUNDS):
        with torch.cuda.stream(side):
            other.fill_(step)  # site: new-owner
        graph.replay()  # site: stale-replay
    main.wait_stream(side)
    return total, ROUNDS


run(input_refilled_under_a_replay, output_read_beside_a_replay, branches_without_an_edge, two_graphs_share_a_buffer,
    workspace_freed_after_capture)
