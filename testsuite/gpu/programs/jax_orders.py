# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX beside CuPy, with orders that are missing, each with its repair (--fixed).

JAX computes in streams of its own and returns before the result is there. Who asks it for the pointer of an array waits
until that is computed (JAX 0.11), so reading is safe at first. What JAX cannot know is what another library does with the
pointer later, and in which of its streams that library has made what it hands to JAX.

usage: jax_orders.py VARIANT [--fixed]
"""

import functools
import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # others run on the same GPU; read when JAX is imported

import cupy
import jax
import jax.numpy as jnp

FIXED = "--fixed" in sys.argv
SIDE = 1024
ROUNDS = 6


@jax.jit
def one_more(x):
    return x + 1


@functools.partial(jax.jit, donate_argnums=0)
def step(weights):
    return weights + 1


def seen_by_cupy(x):
    """The same memory, without a copy, and with nothing by which JAX knows that it is used."""
    memory = cupy.cuda.UnownedMemory(x.unsafe_buffer_pointer(), x.nbytes, None)
    return cupy.ndarray(x.shape, cupy.float32, cupy.cuda.MemoryPointer(memory, 0))


def complete(value):
    made = cupy.full((SIDE, SIDE), value, dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    return made


def donated_while_read():
    """A donated array is written by the step that replaces it, while CuPy reads it."""
    own, twice = cupy.cuda.Stream(non_blocking=True), complete(0)
    weights = jax.block_until_ready(jnp.zeros((SIDE, SIDE), dtype=jnp.float32))
    for _ in range(ROUNDS):
        with own:
            cupy.multiply(seen_by_cupy(weights), 2, out=twice)  # site: weights-read
        if FIXED:
            own.synchronize()
        weights = jax.block_until_ready(step(weights))  # site: weights-step
    own.synchronize()
    return twice, 2 * (ROUNDS - 1)


def exported_from_another_stream():
    """DLPack has JAX wait for the stream that is CuPy's current one at the export, and for no other one."""
    own, array = cupy.cuda.Stream(non_blocking=True), complete(0)
    for _ in range(ROUNDS):
        with own:
            cupy.add(array, 1, out=array)  # site: exported-write
        if FIXED:
            with own:
                x = jax.dlpack.from_dlpack(array)
        else:
            x = jax.dlpack.from_dlpack(array)
        y = jax.block_until_ready(one_more(x))  # site: exported-read
    own.synchronize()
    return cupy.from_dlpack(y), ROUNDS + 1


def main():
    if jax.default_backend() != "gpu":
        sys.exit("JAX has no GPU")
    cupy.cuda.Device(0).use()  # JAX's default; where there are several, JAX has left the last one current
    variants = {variant.__name__: variant for variant in (donated_while_read, exported_from_another_stream)}
    result, expected = variants[sys.argv[1]]()
    cupy.cuda.Device().synchronize()
    if FIXED and not bool(cupy.allclose(result, expected)):
        sys.exit("wrong result")


main()
