# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bugs in Python and their repairs (programs/torch_orders.py, torch_memory.py, torch_graphs.py, kernels_in_python.py,
jax_orders.py), as a user runs them: with the default options, but that a GPU on which kernels cannot be measured is a
failure. The racy one is an error whose report names the lines of Python; of the repaired one nothing is reported. Beside
them correct workloads (torch_workloads.py, torch_fsdp.py), 200 steps each, of which nothing is reported either.
"""

from dataclasses import replace

from suite.case import Case, INFERRED, MEASURED
from suite.expect import Expect, Finding, NO_ERROR

TORCH = ("module:torch",)
TWO = ("module:torch", "devices:2")
MORE = ("module:torch", "module:triton", "module:cupy")
JAX = ("module:jax", "module:cupy")
REFUSED = "a profiler of the program gets no kernels"


def pair(program, variant, *sites, needs=TORCH, alone=False, **finding):
    expect = Expect(exit=66, findings=(Finding(at_least=True, **{"kind": "", **finding}),),
                    allowed=("note", "possible", "latent"), sites=sites)
    name, command = "pair-" + variant.replace("_", "-"), ("{python}", "{programs}/" + program, variant)
    more = {"needs": needs, "null": False, "timeout": 120, "cost": 10, "options": MEASURED, "alone": alone}
    return [Case(name, None, command, expect, site_source=program, **more),
            Case(name + "-fixed", None, (*command, "--fixed"), NO_ERROR, **more)]


def profiled(name, options, *texts, absent=()):
    """torch.profiler in a training loop; the program says how many kernels it has found."""
    return Case("profiler-" + name, None, ("{python}", "{programs}/torch_profiler.py"),
                Expect(allowed=("note", "possible"), text=texts, absent=absent), needs=TORCH, null=False, timeout=120,
                cost=10, options=options)


def steps(program, *words, needs=TORCH):
    name = "steps-" + (words[0] if words else program.removeprefix("torch_").removesuffix(".py")).replace("_", "-")
    return Case(name, None, ("{python}", "{programs}/" + program, *words), NO_ERROR, needs=needs, null=False, timeout=240,
                cost=30, options=MEASURED)


def orders(variant, *sites, **finding):
    return pair("torch_orders.py", variant, *sites, **finding)


def memory(variant, *sites, **finding):
    return pair("torch_memory.py", variant, *sites, **finding)


def graphs(variant, *sites, **finding):
    return pair("torch_graphs.py", variant, *sites, **finding)


def kernels(variant, *sites, **finding):
    return pair("kernels_in_python.py", variant, *sites, needs=MORE, **finding)


def beside_jax(variant, *sites, **finding):
    # Six rounds take milliseconds. Beside many other tests a launch does not always get measured in them.
    return pair("jax_orders.py", variant, *sites, needs=JAX, alone=True, **finding)


CASES = [
    *orders("event_recorded_too_early", "early-write", "early-read", cause="event-recorded-too-early"),
    *orders("another_stream_waits", "third-write", "third-read"),
    *orders("weights_uploaded_without_a_wait", "weights-upload", "weights-product"),
    *orders("waits_the_wrong_way_round", "reversed-write", "reversed-read"),
    *orders("waits_before_the_work", "later-write", "later-read"),
    *orders("chain_with_a_gap", "gap-write", "gap-read"),
    *orders("two_slots_refilled_too_early", "refill", "slot-read"),
    *orders("event_recorded_again", "replaced-write", "replaced-read"),
    *orders("result_by_out", "out-write", "out-read"),
    *orders("prefetcher_without_wait", "prefetch", "batch-read"),
    *orders("gradients_copied_in_hooks", "bucket-copy"),  # the backward pass writes the gradient in a thread of its own
    *orders("gradient_that_comes_late", "late-gradient", "product"),  # of which the backward pass reads the gradient
    *orders("average_of_moving_weights", "average-read", "weight-step"),
    *orders("result_of_a_thread", "thread-write", "thread-read"),
    *orders("cache_line_written_beside_the_reader", "cache-read", "row-write"),
    *memory("prefetched_batch_without_record_stream", "next-batch", "batch-use"),
    *memory("deleted_while_read", "new-tensor", "old-read"),
    *memory("deleted_in_a_mem_pool", "new-tensor", "old-read"),
    *memory("offloaded_activation", "activation", "offload"),
    *memory("weights_swapped_while_read", "weight-read"),
    *memory("resized_while_read", "resized-read"),
    *memory("result_read_before_the_copy_is_done", "download", "host-read"),
    *memory("batch_overwritten_under_its_copy", "host-fill", "upload"),
    *memory("numpy_writes_under_a_copy", "numpy-write", "numpy-upload"),
    *graphs("input_refilled_under_a_replay", "graph-refill", "replay-reads"),
    *graphs("output_read_beside_a_replay", "replay-writes", "output-read"),
    *graphs("branches_without_an_edge", "branch-write", "branch-read"),
    *graphs("two_graphs_share_a_buffer", "first-replay", "second-replay"),
    *graphs("workspace_freed_after_capture", "new-owner", "stale-replay"),
    *kernels("triton_reads_too_early", "torch-write", "triton-read"),
    *kernels("triton_result_used_too_early", "triton-write", "torch-read"),
    *kernels("cupy_writes_a_tensor", "cupy-write", "tensor-read"),
    *kernels("compiled_function_reads_too_early", "compiled-write", "compiled-call"),
    *kernels("block_of_a_pool_of_cupy", "block-read", "block-again", kind="premature-free", hazard="reuse-while-in-use"),
    *beside_jax("donated_while_read", "weights-read", "weights-step", hazard="write-after-read"),
    *beside_jax("exported_from_another_stream", "exported-write", "exported-read", hazard="read-after-write"),
    profiled("refused", MEASURED, "^0 kernels$", REFUSED),
    profiled("served", INFERRED, "^[1-9][0-9]* kernels$", absent=(REFUSED,)),
    Case("steps-trainer-of-torchrun", None, ("{python}", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1",
                                             "{programs}/transformers_trainer.py"),
         replace(NO_ERROR, text=("^40 steps$",)), needs=("module:torch", "module:transformers"), null=False, timeout=240,
         cost=30, options=MEASURED),
    *(steps("torch_workloads.py", workload)
      for workload in ("mixed_precision", "captured_step", "graphed_callables", "compiled", "static_cache")),
    steps("torch_workloads.py", "pipeline", needs=TWO),
    steps("torch_fsdp.py", needs=TWO),
]
