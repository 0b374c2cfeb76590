# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX: a small compiled step repeated; XLA's own streams and events underneath. Correct, so silent.

usage: jax_steps.py [--measured]
"""

import sys

import jax
import jax.numpy as jnp

from measured_end import measured_end


@jax.jit
def step(x, w):
    return jnp.tanh(x @ w) + 0.5 * x


def main():
    if jax.default_backend() != "gpu":
        sys.exit("JAX has no GPU")
    x = jnp.ones((256, 256), dtype=jnp.float32)
    w = jnp.eye(256, dtype=jnp.float32) * 0.5
    for _ in range(20):
        x = step(x, w)
    if not bool(jnp.isfinite(x).all()):
        sys.exit("wrong result")
    measured_end()


main()
