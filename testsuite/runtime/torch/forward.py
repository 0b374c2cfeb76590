# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Work of the backward pass names the line that called the forward operation. Each case is a race of a gradient, which is
written on a stream that nobody waits for, with the operation of the backward pass that reads it; and it is silent with
--fixed, when that stream is waited for.

RUN: env STREAMSAN_OPTIONS=exitcode=0,footprints=inferred %with_cudart %run %torch %s
RUN: env STREAMSAN_OPTIONS=exitcode=0,footprints=inferred,python_stacks=0 %with_cudart %run %torch %s --without
RUN: env STREAMSAN_OPTIONS=footprints=inferred %with_cudart %run %torch %s --fixed

"""
import os
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint

import streamsan

N = 1 << 16
HALF = N // 2
fixed, without = "--fixed" in sys.argv, "--without" in sys.argv
side = torch.cuda.Stream()
source = torch.zeros(2 * N, device="cuda")
torch.cuda.synchronize()
cases = []


def case(*names):
    """The backward pass races, and the forward operations are called in the lines marked with these names. None: nothing
    is known of the operation."""
    def add(function):
        cases.append((function, list(names)))
        return function
    return add


def leaf(n=N):
    return torch.zeros(n, device="cuda", requires_grad=True)


def written_elsewhere(n=HALF):
    gradient = torch.empty(n, device="cuda")
    side.wait_stream(torch.cuda.default_stream())
    with torch.cuda.stream(side):
        gradient.copy_(source[:n])
    gradient.record_stream(side)
    if fixed:
        torch.cuda.default_stream().wait_stream(side)
    return gradient


@case("slice")
def slice_of_a_tensor():
    y = leaf()[:HALF]  # slice
    y.backward(written_elsewhere())


class Half(torch.nn.Module):
    def forward(self, x):
        return x[HALF:]  # module


@case("module")
def in_a_module():
    net = torch.nn.Sequential(torch.nn.Identity(), Half())
    net(leaf()).backward(written_elsewhere())


@case("second")
def of_two_operations_the_one_that_reads():
    x = leaf()
    y = x[:HALF]
    z = x[HALF:]  # second
    torch.autograd.grad([y, z], [x], [source[:HALF], written_elsewhere()])


@case("first")
def the_last_operation_is_not_the_one():
    x = leaf()
    y = x[:HALF]  # first
    z = x[HALF:]
    torch.autograd.grad([y, z], [x], [written_elsewhere(), source[:HALF]])


@case("view")
def in_place_on_a_view():
    x, y = leaf(), torch.zeros(2 * N, device="cuda")
    y[:N].copy_(x)  # view
    y.backward(written_elsewhere(2 * N))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():  # makes nodes of its own
            (leaf() * 2).sum()
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clone()  # backward


@case("function")
def function_in_python():
    y = Doubled.apply(leaf())  # function
    y.backward(written_elsewhere(N))


@case("to the host")
def in_the_thread_that_calls():
    y = leaf().cpu()  # to the host
    gradient = torch.empty(N, pin_memory=True)
    side.wait_stream(torch.cuda.default_stream())
    with torch.cuda.stream(side):
        gradient.copy_(source[:N], non_blocking=True)
    if fixed:
        torch.cuda.default_stream().wait_stream(side)
    y.backward(gradient)
    side.synchronize()


@case("pad")
def second_derivative():
    x = leaf()
    y = torch.nn.functional.pad(x, (0, N))  # pad
    first = torch.zeros(2 * N, device="cuda", requires_grad=True)
    (gradient,) = torch.autograd.grad(y, x, first, create_graph=True)
    gradient.backward(written_elsewhere(N))


def checkpointed(x):
    return x[:HALF]  # checkpoint


@case("checkpoint")
def recomputed():
    checkpoint(checkpointed, leaf(), use_reentrant=False).backward(written_elsewhere())


@case("checkpoint")
def recomputed_by_a_backward_pass_within():
    checkpoint(checkpointed, leaf(), use_reentrant=True).backward(written_elsewhere())


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


@case("one thread", "another thread")
def threads_that_count_alike_and_have_ended():
    def one():
        return leaf()[:HALF]  # one thread

    def another():
        return leaf()[:HALF]  # another thread

    y, z = in_thread(one), in_thread(another)
    y.backward(written_elsewhere())
    torch.cuda.synchronize()
    z.backward(written_elsewhere())


@case("anew")
def at_the_place_of_a_node_that_has_gone():
    for _ in range(100):
        leaf()[HALF:]
    y = leaf()[:HALF]  # anew
    y.backward(written_elsewhere())


@case("after an error")
def a_hook_fails():
    def fail(_):
        raise ValueError

    for device in ("cpu", "cuda"):  # in this thread, and in one of the engine's
        x = torch.zeros(N, device=device, requires_grad=True)
        y = x.clone()
        y.register_hook(fail)
        z = y * 2
        try:
            z.sum().backward()
            raise AssertionError
        except ValueError:
            pass
    # Of no operation any more.
    before = streamsan.findings()
    reads(written_elsewhere())
    torch.cuda.synchronize()
    fresh = [f for f in streamsan.findings() if f.fingerprint not in {b.fingerprint for b in before}]
    assert fixed or without or fresh  # one without lines may have been found before
    assert not any(forward_lines(f) for f in fresh), fresh
    known.update(f.fingerprint for f in fresh)
    y = leaf()[:HALF]  # after an error
    y.backward(written_elsewhere())


def reads(tensor):
    torch.empty_like(tensor).copy_(tensor)


@case("before the fork")
def a_child_counts_for_itself():
    y = leaf()[:HALF]  # before the fork
    child = os.fork()
    if child == 0:
        try:
            x = torch.zeros(4, requires_grad=True)  # PyTorch refuses a backward pass here
            os._exit(0 if (x[:2] * 2).grad_fn is not None else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    y.backward(written_elsewhere())


@case("compiled")
def compiled():
    def clone_of_half(x):  # compiled
        return x[:HALF].clone()

    function = torch.compile(clone_of_half, backend="aot_eager")
    y = function(leaf())
    y.backward(written_elsewhere())


@case(None)
def gradient_of_a_parameter():
    x = leaf(HALF)
    gradient = written_elsewhere()  # held here, so it is copied
    torch.autograd.backward([x], [gradient])


LINES = open(__file__, encoding="utf-8").read().split("\n")


def name_of(line):
    return LINES[line - 1].partition("  # ")[2]


def forward_lines(finding):
    """Of its later operation: the innermost line of the program's own that leads to the forward operation."""
    frames = [f for f in finding.json["accesses"][0]["stack"] if f["forward"] and not f["library"]]
    return [name_of(frame["line"]) for frame in frames]


known, failed = set(), 0
for function, expected in cases:
    function()
    torch.cuda.synchronize()
    fresh = [f for f in streamsan.findings() if f.fingerprint not in known and f.kind == "race"]
    known.update(f.fingerprint for f in fresh)
    names = [(forward_lines(f) or [None])[0] for f in fresh]
    if fixed:
        right = not fresh
    elif without:
        right = set(names) <= {None}
    else:
        right = set(names) == set(expected)
    if not right:
        failed += 1
        print(f"{function.__name__}: expected {expected}, found {names}")
        for f in fresh:
            print(f)
assert bool(known) != fixed
print(f"{len(cases)} cases, {failed} failed")
sys.exit(1 if failed else 0)
