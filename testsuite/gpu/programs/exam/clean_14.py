"""JAX training loop: jitted step with donated state and asynchronous dispatch."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

DIM, BATCH, STEPS = 2048, 2048, 12


def loss_fn(params, x, y):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    out = hidden @ params["w2"]
    return jnp.mean((out - y) ** 2)


def step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads)
    return params, loss


def init(key):
    k1, k2 = jax.random.split(key)
    return {
        "w1": jax.random.normal(k1, (DIM, DIM)) * 0.02,
        "b1": jnp.zeros((DIM,)),
        "w2": jax.random.normal(k2, (DIM, DIM)) * 0.02,
    }


class Feeder:
    """Makes host batches; a fresh array per step, so nothing is written twice."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.base = self.rng.standard_normal((BATCH, DIM), dtype=np.float32)

    def next(self, index):
        x = self.base * np.float32(0.1 * (index + 1))
        return jax.device_put(x), jax.device_put(np.roll(x, 1, axis=1))


def main():
    train = jax.jit(step, donate_argnums=(0,))
    params = init(jax.random.key(0))
    feeder = Feeder(1)
    losses = []
    for index in range(STEPS):
        x, y = feeder.next(index)
        params, loss = train(params, x, y)
        losses.append(loss)
    jax.block_until_ready(params)
    print("losses", [round(float(v), 5) for v in losses])


if __name__ == "__main__":
    main()
