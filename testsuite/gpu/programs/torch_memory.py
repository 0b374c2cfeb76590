# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch programs in which memory goes back to the caching allocator, or is touched by the host, while a stream still uses
it; each with its repair. See pairs.py.
"""

import torch
from pairs import FIXED, ROUNDS, SIDE, matrix, order, pinned, run


def prefetched_batch_without_record_stream():
    """Batches are made in the copy stream and used in another one, which their allocator does not know of: the next batch
    gets the block of the one that is still being read."""
    main, copies = torch.cuda.current_stream(), torch.cuda.Stream()
    batches, total = [pinned(i) for i in range(ROUNDS)], matrix(0)
    for host in batches:
        with torch.cuda.stream(copies):
            batch = host.to("cuda", non_blocking=True)  # site: next-batch
        main.wait_stream(copies)
        total.add_(batch)  # site: batch-use
        if FIXED:
            batch.record_stream(main)
        del batch
    return total, sum(range(ROUNDS))


def deleted_while_read():
    """A tensor is deleted while a side stream reads it, and the next one of its size gets its block."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    total = matrix(0)
    for step in range(ROUNDS):
        x = torch.full((SIDE, SIDE), float(step), device="cuda")  # site: new-tensor
        side.wait_stream(main)
        with torch.cuda.stream(side):
            total.add_(x)  # site: old-read
        if FIXED:
            x.record_stream(side)
        del x
    return total, sum(range(ROUNDS))


pools = []  # one that ended with its function would give its memory back while it is used


def deleted_in_a_mem_pool():
    """The same in a pool of the program's own (torch.cuda.MemPool), whose blocks go round like any others."""
    pools.append(torch.cuda.MemPool())
    with torch.cuda.use_mem_pool(pools[0]):
        return deleted_while_read()


def offloaded_activation():
    """Activations are copied to the host on a stream of their own and dropped at once."""
    main, offload = torch.cuda.current_stream(), torch.cuda.Stream()
    kept = [pinned(0) for _ in range(ROUNDS)]
    x = matrix(1)
    for step in range(ROUNDS):
        activation = x * step  # site: activation
        offload.wait_stream(main)
        with torch.cuda.stream(offload):
            kept[step].copy_(activation, non_blocking=True)  # site: offload
        if FIXED:
            activation.record_stream(offload)
        del activation
    torch.cuda.synchronize()
    return sum(kept), sum(range(ROUNDS))


def weights_swapped_while_read():
    """`p.data = ...` lets the old weights go while another stream computes with them."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    weight, total = torch.nn.Parameter(matrix(0)), matrix(0)
    with torch.no_grad():
        for step in range(ROUNDS):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                total.add_(weight)  # site: weight-read
            order(side, main)
            weight.data = torch.full((SIDE, SIDE), step + 1.0, device="cuda")
            scratch = torch.zeros(SIDE, SIDE, device="cuda")  # site: scratch
            del scratch
    return total, sum(range(ROUNDS))


def resized_while_read():
    """`resize_` gives the old storage back."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    total = matrix(0)
    for step in range(ROUNDS):
        x = torch.full((SIDE, SIDE), float(step), device="cuda")
        side.wait_stream(main)
        with torch.cuda.stream(side):
            total.add_(x)  # site: resized-read
        order(side, main)
        x.resize_(2 * SIDE, 2 * SIDE)
        again = torch.zeros(SIDE, SIDE, device="cuda")  # site: again
        del again
    return total, sum(range(ROUNDS))


def result_read_before_the_copy_is_done():
    """The host reads a pinned tensor behind an asynchronous copy into it."""
    x, host = matrix(0), pinned(0)
    for _ in range(ROUNDS):
        x.add_(1)
        host.copy_(x, non_blocking=True)  # site: download
        if FIXED:
            torch.cuda.current_stream().synchronize()
        last = host[0, 0].item()  # site: host-read
        torch.cuda.synchronize()
    return torch.tensor([last]), ROUNDS


def batch_overwritten_under_its_copy():
    """The host fills a pinned tensor again before the asynchronous copy from it is done."""
    torch.set_num_threads(1)  # a worker thread that writes first has no line of Python
    x, host, total = matrix(0), pinned(0), matrix(0)
    for step in range(ROUNDS):
        host.fill_(step)  # site: host-fill
        x.copy_(host, non_blocking=True)  # site: upload
        total.add_(x)
        if FIXED:
            torch.cuda.current_stream().synchronize()
    return total, sum(range(ROUNDS))


def numpy_writes_under_a_copy():
    """The same through NumPy's view of the pinned tensor."""
    x, host, total = matrix(0), pinned(0), matrix(0)
    view = host.numpy()
    done = torch.cuda.Event()
    for step in range(ROUNDS):
        view[...] = step  # site: numpy-write
        x.copy_(host, non_blocking=True)  # site: numpy-upload
        done.record()
        total.add_(x)
        if FIXED:
            done.synchronize()
    return total, sum(range(ROUNDS))


run(prefetched_batch_without_record_stream, deleted_while_read, deleted_in_a_mem_pool, offloaded_activation,
    weights_swapped_while_read, resized_while_read, result_read_before_the_copy_is_done, batch_overwritten_under_its_copy,
    numpy_writes_under_a_copy)
