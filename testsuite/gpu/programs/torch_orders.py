# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch programs in which two streams are not ordered, or not as they were meant to be; each with its repair. See pairs.py.
"""

import threading

import torch
from pairs import FIXED, ROUNDS, SIDE, matrix, order, pinned, run


def event_recorded_too_early():
    """The event is recorded in front of the work that it is meant for."""
    main, side, done = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Event()
    x = matrix(1)
    for _ in range(ROUNDS):
        if not FIXED:
            done.record(main)
        x.add_(1)  # site: early-write
        if FIXED:
            done.record(main)
        side.wait_event(done)
        with torch.cuda.stream(side):
            y = x * 2  # site: early-read
        main.wait_stream(side)
    return y, 2 * (1 + ROUNDS)


def another_stream_waits():
    """The event is right; the stream that waits for it is not the one that reads."""
    main, side, third, done = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    x = matrix(1)
    for _ in range(ROUNDS):
        x.add_(1)  # site: third-write
        done.record(main)
        (side if FIXED else third).wait_event(done)
        with torch.cuda.stream(side):
            y = x * 2  # site: third-read
        main.wait_stream(side)
    return y, 2 * (1 + ROUNDS)


def weights_uploaded_without_a_wait():
    """The weights of a matrix product are still being uploaded. Its kernel copies them by tensor maps (compute capability 9.0)."""
    main, copies, done = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Event()
    kept = [torch.full((SIDE, SIDE), 1 / SIDE, dtype=torch.bfloat16).pin_memory() for _ in range(ROUNDS)]
    x = torch.ones(SIDE, SIDE, dtype=torch.bfloat16, device="cuda")
    for host in kept:
        with torch.cuda.stream(copies):
            weights = host.to("cuda", non_blocking=True)  # site: weights-upload
            done.record(copies)
        if FIXED:
            main.wait_event(done)
        y = x @ weights  # site: weights-product
        weights.record_stream(main)
    return y.float(), 1


def waits_the_wrong_way_round():
    """The producer waits for the consumer."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x = matrix(1)
    for _ in range(ROUNDS):
        x.add_(1)  # site: reversed-write
        if FIXED:
            side.wait_stream(main)
        else:
            main.wait_stream(side)
        with torch.cuda.stream(side):
            y = x * 2  # site: reversed-read
        main.wait_stream(side)
    return y, 2 * (1 + ROUNDS)


def waits_before_the_work():
    """The wait comes before the work is submitted, and covers what was there before."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x = matrix(1)
    for _ in range(ROUNDS):
        side.wait_stream(main)
        x.add_(1)  # site: later-write
        order(main, side)
        with torch.cuda.stream(side):
            y = x * 2  # site: later-read
        main.wait_stream(side)
    return y, 2 * (1 + ROUNDS)


def chain_with_a_gap():
    """Three stages on three streams: the last one waits for the first and not for the second."""
    main, second, third = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    x, between = matrix(1), matrix(0)
    for _ in range(ROUNDS):
        x.add_(1)
        second.wait_stream(main)
        with torch.cuda.stream(second):
            torch.mul(x, 2, out=between)  # site: gap-write
        third.wait_stream(main)
        order(second, third)
        with torch.cuda.stream(third):
            y = between + 1  # site: gap-read
        main.wait_stream(second)
        main.wait_stream(third)
        second.wait_stream(third)
    return y, 2 * (1 + ROUNDS) + 1


def two_slots_refilled_too_early():
    """A buffer of two slots: the producer comes back to a slot that the consumer may still read."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    slots, total = [matrix(0), matrix(0)], matrix(0)
    filled, read = torch.cuda.Event(), [torch.cuda.Event(), torch.cuda.Event()]
    for step in range(ROUNDS):
        slot = slots[step % 2]
        if FIXED and step >= 2:
            main.wait_event(read[step % 2])
        slot.fill_(step)  # site: refill
        filled.record(main)
        side.wait_event(filled)
        with torch.cuda.stream(side):
            total.add_(slot)  # site: slot-read
            read[step % 2].record(side)
    main.wait_stream(side)
    return total, sum(range(ROUNDS))


def event_recorded_again():
    """One event for two streams: its second record replaces the first, so nobody waits for the first stream."""
    main, one, two, done = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    a, b = matrix(0), matrix(0)
    for _ in range(ROUNDS):
        with torch.cuda.stream(one):
            a.add_(1)  # site: replaced-write
            done.record(one)
        if FIXED:
            main.wait_event(done)
        with torch.cuda.stream(two):
            b.add_(1)
            done.record(two)
        main.wait_event(done)
        y = a + b  # site: replaced-read
        one.wait_stream(main)
        two.wait_stream(main)
    return y, 2 * ROUNDS


def result_by_out():
    """The result of `out=` is used on another stream."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x, out = matrix(1), matrix(0)
    for _ in range(ROUNDS):
        with torch.cuda.stream(side):
            torch.add(x, 1, out=out)  # site: out-write
        order(side, main)
        y = out * 2  # site: out-read
        side.wait_stream(main)
    return y, 4


class Prefetcher:
    """Copies the next batch on a stream of its own while the present one is used."""

    def __init__(self, batches):
        self.batches, self.stream, self.next = iter(batches), torch.cuda.Stream(), None
        self.preload()

    def preload(self):
        batch = next(self.batches, None)
        with torch.cuda.stream(self.stream):
            self.next = None if batch is None else batch.to("cuda", non_blocking=True)  # site: prefetch

    def take(self):
        batch = self.next
        if batch is not None:
            order(self.stream, torch.cuda.current_stream())
            batch.record_stream(torch.cuda.current_stream())
            self.preload()
        return batch


def prefetcher_without_wait():
    """The batch is used before its copy is known to be complete."""
    total = matrix(0)
    prefetcher = Prefetcher([pinned(i) for i in range(ROUNDS)])
    while (batch := prefetcher.take()) is not None:
        total.add_(batch)  # site: batch-read
    return total, sum(range(ROUNDS))


def gradients_copied_in_hooks():
    """Hooks of the backward pass copy gradients into a bucket on a stream for communication."""
    comm = torch.cuda.Stream()
    weight = torch.nn.Parameter(matrix(1))
    bucket = matrix(0)

    def reduce(parameter):
        order(torch.cuda.current_stream(), comm)
        with torch.cuda.stream(comm):
            bucket.copy_(parameter.grad)  # site: bucket-copy

    weight.register_post_accumulate_grad_hook(reduce)
    for _ in range(ROUNDS):
        (weight * 3).sum().backward()
        torch.cuda.current_stream().wait_stream(comm)
        weight.grad.zero_()
    return bucket, 3


def gradient_that_comes_late():
    """The gradient that a backward pass starts from is written on a side stream. What reads it runs in a thread of the
    engine's, and the report names the forward operation."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    weight, gradient = torch.nn.Parameter(matrix(1)), matrix(0)
    for _ in range(ROUNDS):
        product = weight * 3  # site: product
        side.wait_stream(main)
        with torch.cuda.stream(side):
            gradient.fill_(1)  # site: late-gradient
        order(side, main)
        weight.grad = None
        product.backward(gradient)
    return weight.grad, 3


def average_of_moving_weights():
    """A running average of the weights is computed beside the step that changes them."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    weight, average = torch.nn.Parameter(matrix(1)), matrix(0)
    weight.grad = torch.ones_like(weight)
    optimizer = torch.optim.SGD([weight], lr=1.0, foreach=False)
    torch.cuda.synchronize()
    with torch.no_grad():
        for _ in range(ROUNDS):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                average.add_(weight)  # site: average-read
            order(side, main)
            optimizer.step()  # site: weight-step
    return average, sum(1 - i for i in range(ROUNDS))


def result_of_a_thread():
    """A thread submits work on its stream and ends. That it has ended says nothing about its work."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x = matrix(0)

    def work():
        with torch.cuda.stream(side):
            x.add_(1)  # site: thread-write
        if FIXED:
            side.synchronize()

    for _ in range(ROUNDS):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        y = x * 2  # site: thread-read
        main.synchronize()
    return y, 2 * ROUNDS


def cache_line_written_beside_the_reader():
    """A row of a cache is replaced on a copy stream while attention reads the whole cache."""
    main, copies = torch.cuda.current_stream(), torch.cuda.Stream()
    cache, row = matrix(1), matrix(1)[0]
    for step in range(ROUNDS):
        y = cache.sum(dim=1)  # site: cache-read
        order(main, copies)
        with torch.cuda.stream(copies):
            cache[step].copy_(row)  # site: row-write
        main.wait_stream(copies)
    return y, cache.shape[1]


run(event_recorded_too_early, another_stream_waits, weights_uploaded_without_a_wait, waits_the_wrong_way_round,
    waits_before_the_work, chain_with_a_gap,
    two_slots_refilled_too_early, event_recorded_again, result_by_out, prefetcher_without_wait, gradients_copied_in_hooks,
    gradient_that_comes_late, average_of_moving_weights, result_of_a_thread, cache_line_written_beside_the_reader)
