# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmarks, one after the other and nothing beside them. What each means: docs/benchmarks.md.

A benchmark that cannot run is a skipped test "benchmark-NAME" with the reason; one whose program fails, a failed one.
"""

import statistics
import subprocess
import sys
from pathlib import Path

from suite import machine, measure
from suite.build import BuildError
from suite.results import FAIL, SKIP

SOURCES = Path(__file__).resolve().parent.parent.parent / "benchmarks"
PAIRS = 7
STEP_PAIRS = 15  # a training step varies by a tenth from process to process
DRIVER_KINDS = ("record", "wait", "launch")  # what driver-call-ns is the mean of


class Unavailable(Exception):
    """Why a benchmark is skipped."""


class Failed(Exception):
    pass


class Benchmarks:
    def __init__(self, runner, results, product, time_left):
        """time_left(): seconds until nothing new may be started."""
        self.runner = runner
        self.results = results
        self.product = Path(product)
        self.time_left = time_left

    def timed(self, words, timeout, **env):
        """The JSON object a benchmark program prints last."""
        timeout = min(timeout, self.time_left())
        if timeout < 5:
            raise Unavailable("time limit")
        code, text, late = self.runner.call(words, timeout, self.runner.environment(**env), self.runner.folder)
        if late:
            raise Unavailable(f"not done after {timeout:.0f} s")
        numbers = measure.last_json(text)
        if code != 0 or numbers is None:
            raise Failed(f"exit code {code} of {' '.join(map(str, words))}\n{text}")
        return numbers

    def under(self, words):
        return [str(self.runner.streamsan), "run", "--", *words]

    def driver_call(self):
        """driver-call-ns and driver-call-stack-ns."""
        program = self.runner.folder / "driver_call"
        words = [str(machine.toolkit() / "bin" / "nvcc"), "-O2", "-cudart", "none", str(SOURCES / "driver_call.cpp"),
                 f"-L{machine.toolkit()}/lib64/stubs", "-lcuda", "-o", str(program)]
        built = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        if built.returncode != 0:
            raise BuildError(built.stderr)
        runs = {"plain": [], "stacks=0": [], "stacks=1": []}
        for _ in range(PAIRS):
            for options, numbers in runs.items():
                if options == "plain":
                    numbers.append(self.timed([str(program)], 60))
                else:
                    numbers.append(self.timed(self.under([str(program)]), 60, options=options))
        for name, options in (("driver-call-ns", "stacks=0"), ("driver-call-stack-ns", "stacks=1")):
            each = measure.added(runs["plain"], runs[options])
            plain = {kind: statistics.median(run[kind] for run in runs["plain"]) for kind in each}
            self.results.benchmark(name, value=measure.mean_of(each, DRIVER_KINDS),
                                   detail={"added_ns": each, "plain_ns": plain, "mean_of": list(DRIVER_KINDS)})

    def pytorch_step(self):
        reason = machine.missing("module:torch")
        if reason:
            raise Unavailable(reason)
        script = [sys.executable, str(SOURCES / "pytorch_step.py")]
        plain, ours = [], []
        for pair in range(STEP_PAIRS):
            # The first of a pair changes, so that a drift of the machine favours neither.
            jobs = [(plain, [*script, "400"]), (ours, self.under([*script, "400"]))]
            for times, words in jobs if pair % 2 else reversed(jobs):
                times.append(self.timed(words, 120)["ms"])
        peers = {}
        sanitizer = machine.find_tool("compute-sanitizer")
        slow = [("torch-cuda-sanitizer", script, {"TORCH_CUDA_SANITIZER": "1"})]
        if sanitizer:
            slow.append(("compute-sanitizer-memcheck", [sanitizer, "--tool", "memcheck", *script], {}))
        for name, words, env in slow:
            try:
                peers[name] = measure.against(plain, self.timed([*words, "30"], 150, **env)["ms"])
            except (Unavailable, Failed) as error:
                self.results.note(f"==== pytorch-step, peer {name}: {error}")
        self.results.benchmark("pytorch-step", ratio=measure.ratio(plain, ours), peers=peers,
                               detail={"plain_ms": plain, "streamsan_ms": ours})

    def engine(self):
        """engine-ops-per-s: the ordering engine alone, on one core, no GPU."""
        binary = next((p for p in sorted(self.product.rglob("streamsan_engine_benchmark")) if p.is_file()), None)
        if binary is None:
            raise Unavailable("no streamsan_engine_benchmark in the build tree")
        runs = sorted((self.timed([str(binary)], 60) for _ in range(5)), key=lambda run: run["value"])
        middle = runs[len(runs) // 2]
        detail = {key: value for key, value in middle.items() if key not in ("name", "value")}
        self.results.benchmark("engine-ops-per-s", value=middle["value"],
                               detail={**detail, "all_runs": [run["value"] for run in runs]})

    def run(self, null):
        # The most wanted number first, should time run out.
        jobs = [("driver-call", self.driver_call), ("engine-ops-per-s", self.engine)]
        if not null:
            jobs.insert(1, ("pytorch-step", self.pytorch_step))
        for name, job in jobs:
            try:
                job()
            except Unavailable as reason:
                self.results.test("benchmark-" + name, SKIP, str(reason))
            except (Failed, BuildError, KeyError) as error:
                self.results.test("benchmark-" + name, FAIL, "the benchmark did not run", str(error))
