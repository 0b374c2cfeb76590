# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Blocks of PyTorch's caching allocator: each case is a function that tells what is to be found after it, and each
firing one has a silent twin. Whether a block is handed out again does not matter but for the kind of the finding.

RUN: env STREAMSAN_OPTIONS=exitcode=0 %with_cudart %run %torch %s native
RUN: env STREAMSAN_OPTIONS=exitcode=0 PYTORCH_ALLOC_CONF=expandable_segments:True \
RUN:   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True %with_cudart %run %torch %s expandable
RUN: env STREAMSAN_OPTIONS=exitcode=0 PYTORCH_ALLOC_CONF=backend:cudaMallocAsync \
RUN:   PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync %with_cudart %run %torch %s async
RUN: env STREAMSAN_OPTIONS=exitcode=0,torch_blocks=0 %with_cudart %run %torch %s off

"""
import sys
import threading

import torch

import streamsan

N = 1 << 16
mode = sys.argv[1]
side = torch.cuda.Stream()
source = torch.zeros(N, device="cuda")
torch.cuda.synchronize()
cases = []


def case(*expected):
    """What is found new in the function: (hazard, severity)."""
    def add(function):
        cases.append((function, sorted(expected)))
        return function
    return add


def made(stream=None):
    with torch.cuda.stream(stream or torch.cuda.default_stream()):
        return torch.empty(N, device="cuda")


def work(tensor):
    """A copy, whose bytes are known also where kernels cannot be measured."""
    tensor.copy_(source[:len(tensor)])


def use(tensor, stream=side):
    with torch.cuda.stream(stream):
        work(tensor)


RELEASED, REUSED = ("release-while-in-use", "latent"), ("reuse-while-in-use", "error")


def ready():
    """The allocation itself comes before the use."""
    tensor = made()
    side.wait_stream(torch.cuda.default_stream())
    return tensor


@case(RELEASED)
def freed_while_used():
    tensor = ready()
    use(tensor)
    del tensor
    torch.cuda.synchronize()


@case()
def freed_with_record_stream():
    tensor = ready()
    use(tensor)
    tensor.record_stream(side)
    del tensor
    torch.cuda.synchronize()


@case()
def freed_after_wait_stream():
    tensor = ready()
    use(tensor)
    torch.cuda.default_stream().wait_stream(side)
    del tensor


@case()
def freed_after_host_wait():
    tensor = ready()
    use(tensor)
    side.synchronize()
    del tensor


@case(REUSED)
def handed_out_again():
    tensor = ready()
    use(tensor)
    address = tensor.data_ptr()
    del tensor
    again = made()
    assert again.data_ptr() == address
    work(again)
    torch.cuda.synchronize()


@case()
def handed_out_again_after_record_stream():
    tensor = ready()
    use(tensor)
    tensor.record_stream(side)
    del tensor
    again = made()
    work(again)
    torch.cuda.synchronize()


@case(RELEASED)
def event_of_the_program_is_not_the_allocators():
    tensor, event = ready(), torch.cuda.Event()
    use(tensor)
    event.record(side); del tensor  # noqa: E702: one line, one place of Python
    torch.cuda.synchronize()


@case(RELEASED)
def record_stream_of_another_tensor():
    other, tensor = ready(), ready()
    use(tensor)
    use(other)
    other.record_stream(side)
    del other
    del tensor
    torch.cuda.synchronize()


@case(RELEASED)
def record_stream_of_another_stream():
    third, tensor = torch.cuda.Stream(), ready()
    use(tensor)
    tensor.record_stream(third)
    del tensor
    torch.cuda.synchronize()


@case(RELEASED)
def made_in_the_side_stream():
    tensor = made(side)
    torch.cuda.default_stream().wait_stream(side)
    work(tensor)
    del tensor
    torch.cuda.synchronize()


@case()
def made_in_the_side_stream_and_handed_back():
    tensor = made(side)
    torch.cuda.default_stream().wait_stream(side)
    work(tensor)
    side.wait_stream(torch.cuda.default_stream())
    del tensor


@case()
def neighbours_in_one_segment():
    one, two = ready(), ready()
    use(one)
    use(two, torch.cuda.default_stream())
    torch.cuda.synchronize()


@case()
def a_view_keeps_the_block():
    tensor = ready()
    view = tensor[10:20]
    del tensor
    use(view)
    side.synchronize()


@case(RELEASED)
def freed_by_another_thread():
    held = [ready()]
    use(held[0])
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    torch.cuda.synchronize()


@case()
def freed_by_another_thread_with_record_stream():
    held = [ready()]
    use(held[0])
    held[0].record_stream(side)
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    torch.cuda.synchronize()


@case()
def loop_of_a_training_step():
    for _ in range(20):
        batch = made(side)
        torch.cuda.default_stream().wait_stream(side)
        batch.record_stream(torch.cuda.default_stream())
        hidden = batch * 2
        loss = hidden.sum()
        del batch, hidden, loss
    torch.cuda.synchronize()


known, failed = set(), 0
for function, expected in cases:
    function()
    torch.cuda.synchronize()
    fresh = [f for f in streamsan.findings() if f.fingerprint not in known]
    known.update(f.fingerprint for f in fresh)
    got = sorted((f.hazard, f.severity) for f in fresh)
    if mode in ("native", "expandable"):
        # At the free, or where it is handed out again: in the case's own lines.
        lines = range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 12)
        placed = all(line in lines or "made" in str(f) for f in fresh for _, file, line in f.places[:1])
        right = got == expected and placed
    else:  # segments only, or blocks of CUDA's own
        right = not {hazard for hazard, _ in got} & {RELEASED[0], REUSED[0]}
    if not right:
        failed += 1
        print(f"{function.__name__}: expected {expected}, found {got}")
        for f in fresh:
            print(f)
assert len(cases) == 16 and (known or mode in ("off", "async"))
print(f"{mode}: {len(cases)} cases, {failed} failed")
sys.exit(1 if failed else 0)
