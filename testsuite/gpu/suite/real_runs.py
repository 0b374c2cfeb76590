# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole runs of public libraries (testsuite/benchmarks/real_runs.py), with StreamSan and without: wall-NAME and first-steps-NAME.

Such a run takes ten seconds, most of them of one core: imports, data, and the compiler of a framework. So several
programs run beside each other, each with its own group of runs: plain and with StreamSan, one behind the other. What the
neighbours do disturbs all of them. A few such groups have no interval of confidence; the medians over all
programs tell more than those of one.
"""

import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from suite import machine, measure
from suite.pairs import Failed, Unavailable

# The programs, and the Python module that each needs.
NEEDS = {"timm_prefetcher": "timm", "pyg_prefetcher": "torch_geometric", "gpt2": "transformers", "compiled": "triton",
         "lightning_fit": "lightning", "cupy_streams": "cupy", "jax_mlp": "optax", "vit_side_stream": "torchvision"}
# "cached": a run before has measured, and left what it has learned in a folder.
KINDS = {"plain": None, "default": ("footprint_cache=off",), "cached": ("footprint_cache={cache}",),
         "inferred": ("footprints=inferred",)}
AT_ONCE = 8
ROUNDS = 3
SECONDS = 120  # for one run


def wall(name):
    return "wall-" + name.replace("_", "-")


def first_steps(name):
    return "first-steps-" + name.replace("_", "-")


NUMBERS = {wall: "seconds", first_steps: "step_ms"}  # what each is made of


class RealRuns:
    """`timed(words, timeout)` and `under(words, options)` are those of Benchmarks; `words` start the source; `folder` is
    for what is kept between runs."""

    def __init__(self, timed, under, words, folder):
        self.timed, self.under, self.words, self.folder = timed, under, words, folder

    def once(self, name, kind):
        words = [*self.words, name]
        if KINDS[kind] is not None:
            cache = str(self.folder / f"cache-{name}")
            words = self.under(words, tuple(option.replace("{cache}", cache) for option in KINDS[kind]))
        began = time.monotonic()
        numbers = self.timed(words, SECONDS)
        return {"seconds": time.monotonic() - began, "step_ms": statistics.median(numbers["steps_ms"])}

    def group(self, name, number, kinds=tuple(KINDS)):
        """One run of each kind, in an order that changes from round to round; or why not."""
        turn = number % len(kinds)
        kinds = [*kinds[turn:], *kinds[:turn]]
        try:
            return {kind: self.once(name, kind) for kind in kinds}
        except (Unavailable, Failed) as reason:
            return reason

    def take(self, wanted):
        """{name: [{kind: numbers} of each round], or why there is none} of the programs that are wanted."""
        taken = {name: [] for name in wanted}
        for name in wanted:
            if reason := machine.missing("module:" + NEEDS[name]):
                taken[name] = Unavailable(reason)
        with ThreadPoolExecutor(min(AT_ONCE, max(1, (os.cpu_count() or 1) // 2))) as pool:
            # On a machine that has just started nothing is in the file cache, and nothing was measured.
            list(pool.map(lambda name: self.group(name, 0, ["plain", "cached"]),
                          [n for n in wanted if isinstance(taken[n], list)]))
            for number in range(ROUNDS):
                going = [name for name in wanted if isinstance(taken[name], list)]
                for name, answer in zip(going, pool.map(self.group, going, [number] * len(going))):
                    if isinstance(answer, dict):
                        taken[name].append(answer)
                    elif not taken[name] or isinstance(answer, Failed):  # time ran out: what was taken counts
                        taken[name] = answer
        return taken


def numbers_of(rounds, what):
    """Of "seconds" or "step_ms": the ratio to plain by the default, with nothing known from earlier runs; the same where an
    earlier run has measured, and with inferred footprints; and what was taken."""
    def values(kind):
        return [round(numbers[kind][what], 3) for numbers in rounds]

    plain = values("plain")
    return {"ratio": measure.ratio(plain, values("default")), "pairs": len(rounds),
            "detail": {"cached": measure.ratio(plain, values("cached")),
                       "inferred": measure.ratio(plain, values("inferred")),
                       **{f"{kind}_{what}": values(kind) for kind in KINDS}}}
