# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python programs: PyTorch side streams, racy and repaired, and every framework once as a silent program.

Where footprints are inferred: framework kernels get their pointers inside structures, and the caching allocators hand out
parts of large segments, so `possible` findings are allowed; errors and latent findings are not. A racy variant may race
in more than one pair of operations, so the number of errors is a lower bound; and whether a kernel reads or writes
through such a pointer is not known, so the hazard is not asked for. Where they are measured, what is racy is an error and
what is not is silent. The report of a racy one names its two lines of Python (marked "site:").
"""

from dataclasses import replace

from suite.case import Case, Target, measured
from suite.expect import Expect, Finding, NO_ERROR


def script(name, *words):
    return ("{python}", "{programs}/" + name, *words)


RACY = Expect(exit=66, findings=(Finding(at_least=True),), allowed=("note", "possible"))
NO_FINDING = Expect()
JAX = Expect(findings=(Finding("latent", "premature-free", "free-while-in-use", rule="R-CPY-13", at_least=True),),
             allowed=("note", "possible"))


def python(name, command, expect=NO_ERROR, needs=("module:torch",), **more):
    return Case(name, None, command, expect, needs=needs, null=False, timeout=120, cost=20, **more)


def races_at(*sites):
    return replace(RACY, sites=sites)


def torch_twins(variant, expect=RACY, fixed=NO_ERROR, **more):
    name = "torch-" + variant.replace("_", "-")
    return [
        python(name, script("torch_side_stream.py", variant), expect, site_source="torch_side_stream.py", **more),
        python(name + "-fixed", script("torch_side_stream.py", variant, "--fixed"), fixed),
    ]


FRAMEWORKS = [
    *torch_twins("produce_on_default", races_at("default-write", "side-read"), record=True),
    *torch_twins("produce_on_side", races_at("side-write", "default-read")),
    *torch_twins("pinned_upload", races_at("upload", "upload-read")),
    *torch_twins("matmul_on_side", RACY, NO_FINDING),
    python("torch-shared-weights", script("torch_side_stream.py", "shared_weights", "--fixed")),
    python("torch-training", script("torch_training.py", "50")),
    python("torch-graph", script("torch_graph.py")),
    python("torch-nccl", script("torch_nccl.py")),
    python("cupy", script("cupy_streams.py"), races_at("multiply", "add"), needs=("module:cupy",), record=True,
           site_source="cupy_streams.py"),
    python("cupy-fixed", script("cupy_streams.py", "--fixed"), needs=("module:cupy",)),
    python("numba", script("numba_streams.py"), races_at("twice", "add"), needs=("module:numba",), record=True,
           site_source="numba_streams.py"),
    python("numba-fixed", script("numba_streams.py", "--fixed"), needs=("module:numba",)),
    # XLA copies a pattern from a local variable to the device and returns: today's driver has read it by then.
    python("jax", script("jax_steps.py"), JAX, needs=("module:jax",)),
    python("jax-training", script("jax_training.py"), JAX, needs=("module:jax",)),
    python("triton", script("triton_add.py"), needs=("module:torch", "module:triton")),
]

BY_NAME = {case.name: case for case in FRAMEWORKS}
# What these launch again has the same arguments and the same bytes.
STEADY = [name for name in BY_NAME if name.startswith(("torch-produce", "torch-pinned", "torch-matmul", "torch-shared",
                                                       "cupy", "numba", "triton"))]
# Here some launches have new arguments in every step (numbers of steps, seeds), or meet other launches on the GPU.
CHANGING = ("torch-training", "torch-graph", "torch-nccl", "jax", "jax-training")
MEASURED_FRAMEWORKS = [
    *measured([BY_NAME[name] for name in STEADY if BY_NAME[name].expect.exit == RACY.exit]),
    *measured([BY_NAME[name] for name in STEADY if BY_NAME[name].expect in (NO_ERROR, NO_FINDING)], expect=NO_FINDING),
    *measured([BY_NAME[name] for name in CHANGING]),
    *measured([python("torch-two-streams", script("torch_two_streams.py", "200"))]),
]


def counts(name, command, needs, **more):
    return Case("counts-" + name, command=command, expect=NO_ERROR, mode="counts", needs=("file:cupti", *needs), null=False, timeout=120,
                cost=20, **more)


COUNTS = [
    counts("cublas", ("{}",), ("header:cublas_v2.h",), target=Target("matmul.cu", ("-g", "-lcublas"))),
    counts("torch-training", script("torch_training.py", "20", "--measured"), ("module:torch",)),
    counts("torch-graph", script("torch_graph.py", "--measured"), ("module:torch",)),
    counts("nccl", script("torch_nccl.py", "--measured"), ("module:torch",)),
    counts("triton", script("triton_add.py", "--measured"), ("module:torch", "module:triton")),
    counts("cupy", script("cupy_streams.py", "--fixed", "--measured"), ("module:cupy",)),
    counts("jax", script("jax_steps.py", "--measured"), ("module:jax",)),
    counts("numba", script("numba_streams.py", "--fixed", "--measured"), ("module:numba",)),
    Case("cublas", Target("matmul.cu", ("-g", "-lcublas")), expect=NO_ERROR, needs=("header:cublas_v2.h",), null=False,
         cost=5),
]

CASES = [*FRAMEWORKS, *MEASURED_FRAMEWORKS, *COUNTS]
