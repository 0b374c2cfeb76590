# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX: 200 training steps of a small convolutional network. XLA times its candidates for the products and convolutions
first (autotuning), and then launches each step as graphs (command buffers). Batches come from the host, one ahead of the
step. Correct, so silent.
"""

import os
import sys

# Graphs also for runs of few kernels. Read when JAX is imported.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_graph_min_graph_size=1"

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 200
BATCH = 64


def parameters(key):
    conv, inner, outer = jax.random.split(key, 3)
    return {"conv": jax.random.normal(conv, (16, 3, 3, 3)) * 0.1,
            "inner": jax.random.normal(inner, (16 * 32 * 32, 128)) * 0.01,
            "outer": jax.random.normal(outer, (128, 10)) * 0.1}


def loss(weights, images, labels):
    x = jax.lax.conv_general_dilated(images, weights["conv"], (1, 1), "SAME")
    x = jax.nn.relu(x).reshape(images.shape[0], -1)
    x = jax.nn.relu(x @ weights["inner"]) @ weights["outer"]
    return -jnp.mean(jax.nn.log_softmax(x)[jnp.arange(x.shape[0]), labels])


@jax.jit
def step(weights, images, labels):
    value, slopes = jax.value_and_grad(loss)(weights, images, labels)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, slopes), value


def main():
    if jax.default_backend() != "gpu":
        sys.exit("JAX has no GPU")
    random = np.random.default_rng(1)
    images = random.standard_normal((4, BATCH, 3, 32, 32), dtype=np.float32)
    labels = random.integers(0, 10, (4, BATCH))
    weights = parameters(jax.random.key(1))
    ahead = jax.device_put((images[0], labels[0]))
    values = []
    for i in range(STEPS):
        batch, ahead = ahead, jax.device_put((images[(i + 1) % 4], labels[(i + 1) % 4]))
        weights, value = step(weights, *batch)
        values.append(value)
    values = np.array(jnp.stack(values))
    if not (np.isfinite(values).all() and values[-1] < values[0]):
        sys.exit(f"wrong result: {values[0]} to {values[-1]}")


main()
