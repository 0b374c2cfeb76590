# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmarks, one after the other and nothing beside them. What each means: docs/benchmarks.md.

A benchmark that cannot run is a skipped test "benchmark-NAME" with the reason; one whose program fails, a failed one.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from suite import cases_syncs, machine, measure, sync_advice
from suite.build import BuildError
from suite.case import MEASURED
from suite.results import FAIL, SKIP

SOURCES = Path(__file__).resolve().parent.parent.parent / "benchmarks"
PAIRS = 7
STEP_PAIRS = 15  # a training step varies by a tenth from process to process
FEWEST_STEP_PAIRS = 5
STEP_SECONDS = 120  # no further pair of it after so long, beyond the fewest
STEADY_PAIRS = 9  # of what is timed in its steady state
LOADER_PAIRS = 21  # that many: how fast the host fills 64 MiB differs by a factor of two from process to process
HOST_GUARD = (("host-guard-4m", ("load", "4"), STEADY_PAIRS), ("host-guard-64m", ("load", "64"), LOADER_PAIRS),
              ("host-guard-read", ("read", "0"), STEADY_PAIRS))
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

    def under(self, words, options=("footprints=inferred",)):
        return [str(self.runner.streamsan), "run", *("--" + option for option in options), "--", *words]

    def built(self, source, *flags):
        program = self.runner.folder / Path(source).stem
        words = [str(machine.toolkit() / "bin" / "nvcc"), "-O2", str(SOURCES / source), *flags, "-o", str(program)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise BuildError(done.stderr)
        return str(program)

    def peers(self, name, plain, slow):
        """{peer: ratio} of the tools in slow: [(name, words, environment)]. A peer that does not run is noted."""
        ratios = {}
        for peer, words, env in slow:
            try:
                ratios[peer] = measure.against(plain, self.timed(words, 150, **env)["ms"])
            except (Unavailable, Failed) as error:
                self.results.note(f"==== {name}, peer {peer}: {error}")
        return ratios

    def memcheck(self, words):
        """As a peer, if there is one."""
        sanitizer = machine.find_tool("compute-sanitizer")
        return [("compute-sanitizer-memcheck", [sanitizer, "--tool", "memcheck", *words], {})] if sanitizer else []

    def steady(self, words, *options, pairs=STEADY_PAIRS):
        """Times of a program in its steady state: those of plain runs, then for each of the options those under us."""
        jobs = [([], words), *(([], self.under(words, chosen)) for chosen in options)]
        for pair in range(pairs):
            for times, command in jobs if pair % 2 else reversed(jobs):
                times.append(self.timed(command, 60)["ms"])
        return [times for times, _ in jobs]

    def learned(self, name, source, *flags):
        """A program whose launches are all alike, with measured footprints."""
        program = self.built(source, "-std=c++20", *flags)
        plain, ours = self.steady([program], MEASURED)
        self.results.benchmark(name, ratio=measure.ratio(plain, ours),
                               peers=self.peers(name, plain, self.memcheck([program, "1", "3", "1"])),
                               detail={"plain_ms": plain, "streamsan_ms": ours})

    def host_guard(self, name, words, pairs):
        """A correct program that lends host memory all the time. Where a step is short it runs without guards as well:
        that tells what recording its calls costs."""
        program = self.built("host_guard.cu", "-std=c++20")
        guards = ("true", "false") if words[0] == "read" else ("true",)
        options = (("footprints=inferred", "host_guard=" + on) for on in guards)
        plain, guarded, *unguarded = self.steady([program, *words], *options, pairs=pairs)
        detail = {"plain_ms": plain, "streamsan_ms": guarded}
        for times in unguarded:
            detail.update(unguarded_ms=times, guards_alone=measure.ratio(times, guarded))
        self.results.benchmark(name, ratio=measure.ratio(plain, guarded), detail=detail)

    def sync_advice(self):
        """Programs as they are once the advice of --syncs is followed, over the same as they were."""
        programs = sync_advice.compared()
        source = self.runner.folder / "sync_advice_programs.cu"
        source.write_text(sync_advice.generated(programs))
        program = self.built(source, "-std=c++17", f"-I{SOURCES}", cases_syncs.INCLUDE)
        pairs = self.timed([program, cases_syncs.CYCLES, str(STEADY_PAIRS)], 60)
        self.results.benchmark("sync-advice", **sync_advice.numbers(pairs))

    def driver_call(self):
        """driver-call-ns and driver-call-stack-ns."""
        program = self.built("driver_call.cpp", "-cudart", "none", f"-L{machine.toolkit()}/lib64/stubs", "-lcuda")
        runs = {"plain": [], "stacks=0": [], "stacks=1": []}
        for _ in range(PAIRS):
            for options, numbers in runs.items():
                if options == "plain":
                    numbers.append(self.timed([program], 60))
                else:
                    numbers.append(self.timed(self.under([program]), 60, options=options))
        for name, options in (("driver-call-ns", "stacks=0"), ("driver-call-stack-ns", "stacks=1")):
            each = measure.added(runs["plain"], runs[options])
            plain = {kind: statistics.median(run[kind] for run in runs["plain"]) for kind in each}
            self.results.benchmark(name, value=measure.mean_of(each, DRIVER_KINDS),
                                   detail={"added_ns": each, "plain_ns": plain, "mean_of": list(DRIVER_KINDS)})

    def pytorch_step(self):
        """pytorch-step and pytorch-step-footprints, over the same plain runs."""
        reason = machine.missing("module:torch")
        if reason:
            raise Unavailable(reason)
        script = [sys.executable, str(SOURCES / "pytorch_step.py")]
        plain, inferred, learned = [], [], []
        jobs = [(plain, [*script, "400"]), (inferred, self.under([*script, "400"])),
                (learned, self.under([*script, "400"], MEASURED))]
        start = time.monotonic()
        for pair in range(STEP_PAIRS):
            if pair >= FEWEST_STEP_PAIRS and time.monotonic() - start > STEP_SECONDS:
                break
            # The first of each round changes, so that a drift of the machine favours none.
            first = pair % len(jobs)
            for job in jobs[first:] + jobs[:first]:
                times, words = job
                try:
                    times.append(self.timed(words, 120)["ms"])
                except Failed as error:
                    if times is not learned:
                        raise
                    jobs.remove(job)  # that costs the newer number, and not the older one
                    learned.clear()
                    self.results.test("benchmark-pytorch-step-footprints", FAIL, "the benchmark did not run", str(error))
        short = [*script, "30"]
        peers = self.peers("pytorch-step", plain, [
            ("torch-cuda-sanitizer", short, {"TORCH_CUDA_SANITIZER": "1"}), *self.memcheck(short)])
        for name, ours in (("pytorch-step", inferred), ("pytorch-step-footprints", learned)):
            if not ours:
                continue
            self.results.benchmark(name, ratio=measure.ratio(plain, ours), peers=peers,
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
            jobs[1:1] = [("vadd-learned", lambda: self.learned("vadd-learned", "vadd_learned.cu")),
                         ("sgemm-learned", lambda: self.learned("sgemm-learned", "sgemm_learned.cu", "-lcublas")),
                         ("sync-advice", self.sync_advice),
                         *((name, lambda row=(name, *rest): self.host_guard(*row)) for name, *rest in HOST_GUARD),
                         ("pytorch-step", self.pytorch_step)]
        for name, job in jobs:
            try:
                job()
            except Unavailable as reason:
                self.results.test("benchmark-" + name, SKIP, str(reason))
            except (Failed, BuildError, KeyError) as error:
                self.results.test("benchmark-" + name, FAIL, "the benchmark did not run", str(error))
