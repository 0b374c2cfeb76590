# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole runs of public libraries (testsuite/benchmarks/real_runs.py), with StreamSan and without: wall-NAME and first-steps-NAME.

Such a run takes ten seconds, most of them of one core: imports, data, and the compiler of a framework. So a few
programs run beside each other, on each GPU as many as do not get into each other's way, and each with its own rounds:
plain and with StreamSan, one behind the other. (With eight on one GPU and sixteen cores, plain runs of one program
differed by a factor of two, and the first steps under StreamSan were 1.5 times as long, where they were 1.3 with two.)
Short programs have more rounds than long ones.
"""

import queue
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from suite import machine, measure
from suite.pairs import Failed, Unavailable

# The programs, the longest first, and the Python module that each needs.
NEEDS = {"timm_prefetcher": "timm", "compiled": "triton", "gpt2": "transformers", "lightning_fit": "lightning",
         "pyg_prefetcher": "torch_geometric", "vit_side_stream": "torchvision", "jax_mlp": "optax", "cupy_streams": "cupy"}
# "cached": a run before has measured, and left what it has learned in a folder.
KINDS = {"plain": None, "default": ("footprint_cache=off",), "cached": ("footprint_cache={cache}",),
         "inferred": ("footprints=inferred",)}
PER_GPU = 2  # programs
FEWEST, MOST = 3, 8  # rounds of a program
SHARE = 100  # seconds of a program, after which it gets no further round if it has the fewest
SECONDS = 120  # for one run


def wall(name):
    return "wall-" + name.replace("_", "-")


def first_steps(name):
    return "first-steps-" + name.replace("_", "-")


NUMBERS = {wall: "seconds", first_steps: "step_ms"}  # what each is made of


class RealRuns:
    """`timed(words, timeout, **environment)` and `under(words, options)` are those of Benchmarks; `words` start the source;
    `folder` is for what is kept between runs."""

    def __init__(self, timed, under, words, folder):
        self.timed, self.under, self.words, self.folder = timed, under, words, folder

    def once(self, name, kind, environment):
        words = [*self.words, name]
        if KINDS[kind] is not None:
            cache = str(self.folder / f"cache-{name}")
            words = self.under(words, tuple(option.replace("{cache}", cache) for option in KINDS[kind]))
        began = time.monotonic()
        numbers = self.timed(words, SECONDS, **environment)
        return {"seconds": time.monotonic() - began, "step_ms": statistics.median(numbers["steps_ms"])}

    def group(self, name, number, environment, kinds=tuple(KINDS)):
        """One run of each kind, in an order that changes from round to round."""
        turn = number % len(kinds)
        return {kind: self.once(name, kind, environment) for kind in (*kinds[turn:], *kinds[:turn])}

    def rounds(self, name, environment):
        """[{kind: numbers} of each round], or why there is none."""
        if reason := machine.missing("module:" + NEEDS[name]):
            return Unavailable(reason)
        taken, began = [], time.monotonic()
        try:
            # On a machine that has just started nothing is in the file cache, and nothing was measured.
            self.group(name, 0, environment, ("plain", "cached"))
            while len(taken) < FEWEST or (len(taken) < MOST and time.monotonic() - began < SHARE):
                taken.append(self.group(name, len(taken), environment))
        except Failed as failed:
            return failed
        except Unavailable as reason:
            return taken or reason  # time ran out: what was taken counts
        return taken

    def take(self, wanted):
        """{name: rounds()} of the programs that are wanted."""
        gpus = machine.gpus()
        free = queue.SimpleQueue()
        for gpu in gpus * PER_GPU:
            free.put(gpu)

        def one(name):
            gpu = free.get()
            try:
                return self.rounds(name, {"CUDA_VISIBLE_DEVICES": gpu})
            finally:
                free.put(gpu)

        with ThreadPoolExecutor(len(gpus) * PER_GPU) as pool:
            return dict(zip(wanted, pool.map(one, wanted)))


def numbers_of(rounds, what):
    """Of "seconds" or "step_ms": the ratio to plain by the default, with nothing known from earlier runs; the same where an
    earlier run has measured, and with inferred footprints; and what was taken."""
    def values(kind):
        return [round(numbers[kind][what], 3) for numbers in rounds]

    plain = values("plain")
    ends = measure.interval(measure.ratios(plain, values("default")))
    return {"ratio": measure.ratio(plain, values("default")), "pairs": len(rounds),
            **({"interval": [round(end, 3) for end in ends]} if ends else {}),
            "detail": {"cached": measure.ratio(plain, values("cached")),
                       "inferred": measure.ratio(plain, values("inferred")),
                       **{f"{kind}_{what}": values(kind) for kind in KINDS}}}
