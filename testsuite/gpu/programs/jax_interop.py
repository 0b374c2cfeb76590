# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuPy works on an array of JAX by its address, on a stream of its own, and does not wait for what JAX computes.

JAX returns from a jitted function before the result is computed, and its address is known at once. Who takes that (or the
CUDA array interface, which names no stream) must wait for the result; DLPack does so by itself.

usage: jax_interop.py result_used_by_address|buffer_written_by_address [--fixed]
"""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # CuPy wants memory, too

import cupy
import jax
import jax.numpy as jnp

FIXED = "--fixed" in sys.argv
SIDE = 8192
ROUNDS = 16


def view(array):
    """CuPy's array over the memory of JAX's."""
    memory = cupy.cuda.UnownedMemory(array.unsafe_buffer_pointer(), array.nbytes, array)
    return cupy.ndarray(array.shape, cupy.float32, cupy.cuda.MemoryPointer(memory, 0))


@jax.jit
def step(x):
    return jnp.sqrt(x * x)


def result_used_by_address(own):
    """CuPy sums what JAX is still computing."""
    x = jnp.ones((SIDE, SIDE), jnp.float32)
    with own:
        total = cupy.zeros((SIDE, SIDE), cupy.float32)
    for _ in range(ROUNDS):
        x = step(x)  # site: jax-result
        if FIXED:
            x.block_until_ready()
        with own:
            total += view(x)  # site: cupy-read
        own.synchronize()
    return float(total[0, 0]), ROUNDS


def buffer_written_by_address(own):
    """CuPy overwrites an array that JAX is still reading."""
    x = jnp.ones((SIDE, SIDE), jnp.float32)
    array = view(x.block_until_ready())
    for _ in range(ROUNDS):
        y = step(x)  # site: jax-read
        if FIXED:
            y.block_until_ready()
        with own:
            cupy.multiply(array, 1, out=array)  # site: cupy-write
        own.synchronize()
    return float(y[0, 0]), 1


def main():
    if jax.default_backend() != "gpu":
        sys.exit("JAX has no GPU")
    found, expected = {variant.__name__: variant for variant in (result_used_by_address, buffer_written_by_address)}[
        sys.argv[1]](cupy.cuda.Stream(non_blocking=True))
    if FIXED and found != expected:
        sys.exit(f"wrong result: {found} instead of {expected}")


main()
