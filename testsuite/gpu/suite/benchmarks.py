# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmarks, one after the other and nothing beside them. What each means: docs/benchmarks.md.

A number that cannot be had is a skipped test "benchmark-NAME" with the reason; one whose program fails, a failed one.
What has been measured by the run that is continued is not measured again.
"""

import fnmatch
import itertools
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Optional

from suite import cases_syncs, machine, measure, real_runs, sync_advice
from suite.build import BuildError, libcuda_folder
from suite.case import ALL_MEASURED, MEASURED
from suite.pairs import Failed, Rule, Unavailable, take
from suite.results import BENCHMARK, FAIL, SKIP, TIME_LIMIT
from suite.turns import TurnFailed, take_turns

SOURCES = Path(__file__).resolve().parent.parent.parent / "benchmarks"
CALLS = Rule(narrow=20)  # nanoseconds added to a call
STEADY = Rule(narrow=0.01)  # of what is timed in its steady state
GUARDED = Rule(narrow=0.02)
GRAPHS = Rule(narrow=0.02, most=12)
LOCKS = Rule(narrow=0.02, most=40)
LOADER = Rule(narrow=0.02, most=24)  # how fast the host fills 64 MiB differs by a factor of two from process to process
STEP = Rule(narrow=0.02, fewest=8, most=12, seconds=180)
PARTS = Rule(narrow=0.02, fewest=6, most=40, seconds=420)
STEP_COPIES = 3  # of each command in a round: a training step varies by 5 percent from process to process
STEP_TURNS = 6
STEP_SECONDS = 120  # for a round
ADVICE_PAIRS = 9
HOST_GUARD = (("host-guard-read", ("read", "0"), GUARDED), ("host-guard-4m", ("load", "4"), GUARDED),
              ("host-guard-64m", ("load", "64"), LOADER))
DRIVER_KINDS = ("record", "wait", "launch")  # what driver-call-ns is the mean of
DRIVER_NUMBERS = {"driver-call-ns": "stacks=0", "driver-call-stack-ns": "stacks=1"}


@dataclass(frozen=True)
class Job:
    names: tuple  # of the numbers
    run: Callable
    peers: Optional[Callable] = None  # [(peer, words, environment)]: tools to compare with
    null: bool = False  # means something without a GPU


class Benchmarks:
    def __init__(self, runner, results, product, time_left, again=False, only=(), fewest=False):
        """time_left(): seconds until nothing new may be started. again: what failed is run once more. only: patterns, one
        of which each name must match, if there are any. fewest: no more rounds than an interval needs."""
        self.runner = runner
        self.results = results
        self.product = Path(product)
        self.time_left = time_left
        self.again = again
        self.only = only
        self.fewest = fewest
        self.programs = {}  # source -> what was built of it

    def jobs(self):
        """The most wanted numbers first, should time run out."""
        return [
            Job(("pytorch-step", "pytorch-step-footprints"), self.pytorch_step, self.pytorch_peers),
            Job(("torch-allocator", "python-stacks"), self.pytorch_parts),
            Job(tuple(number(name) for name in real_runs.NEEDS for number in real_runs.NUMBERS), self.real_runs),
            *(Job((name,), lambda row=(name, *rest): self.host_guard(*row)) for name, *rest in HOST_GUARD),
            self.learned("vadd-learned", "vadd_learned.cu"),
            self.learned("sgemm-learned", "sgemm_learned.cu", "-lcublas"),
            self.learned("vadd-first-launch", "vadd_first.cu", options=(*ALL_MEASURED, "footprint_cache=off")),
            self.graph("graph-launch", "launch"),
            self.graph("graph-instantiate", "instantiate"),
            Job(("dependent-launch",), self.dependent),
            Job(("locks-16-threads",), self.locks, null=True),
            Job(("stress-16-threads",), self.stress),
            Job(("sync-advice",), self.sync_advice),
            Job(("engine-ops-per-s",), self.engine, null=True),
            Job(tuple(DRIVER_NUMBERS), self.driver_call, null=True),
        ]

    def is_chosen(self, name):
        return not self.only or any(fnmatch.fnmatch(name, pattern) for pattern in self.only)

    def wants(self, name):
        return self.is_chosen(name) and self.results.is_number_open(name, self.again)

    def timed(self, words, timeout, **env):
        """The JSON object a benchmark program prints last."""
        left = self.time_left()
        if left < 5:
            raise Unavailable(TIME_LIMIT)
        code, text, late = self.runner.call(words, min(timeout, left), self.runner.environment(**env),
                                            self.runner.folder)
        if late:
            raise Unavailable(f"not done after {timeout:.0f} s" if timeout <= left else TIME_LIMIT)
        numbers = measure.last_json(text)
        if code != 0 or numbers is None:
            raise Failed(f"exit code {code} of {' '.join(map(str, words))}\n{text}")
        return numbers

    def take(self, runs, spread, rule):
        return take(runs, spread, replace(rule, most=rule.fewest) if self.fewest else rule, self.time_left)

    def take_turns(self, commands, turns, timeout, first_turn):
        environment = self.runner.environment(PYTHONHASHSEED="0")  # one thing less in which processes differ
        return take_turns(commands, turns, timeout, environment, self.runner.folder, first_turn)

    def under(self, words, options=("footprints=inferred",)):
        return [str(self.runner.streamsan), "run", *("--" + option for option in options), "--", *words]

    def built(self, source, *flags):
        # Beside the folders of the cases, which bear their names: one is called graph, as a benchmark is.
        program = self.runner.folder / f"{Path(source).stem}.benchmark"
        if source not in self.programs:
            words = [str(machine.toolkit() / "bin" / "nvcc"), "-O2", str(SOURCES / source), *flags, "-o", str(program)]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
            if done.returncode != 0:
                raise BuildError(done.stderr)
            self.programs[source] = str(program)
        return self.programs[source]

    def memcheck(self, words):
        """As a peer, if there is one."""
        sanitizer = machine.find_tool("compute-sanitizer")
        return [("compute-sanitizer-memcheck", [sanitizer, "--tool", "memcheck", *words], {})] if sanitizer else []

    def compared(self, commands, rule, timeout=60):
        """Milliseconds of each command {name: words} in rounds, until the ratio of each to "plain" is known."""
        def spread(taken):
            return max(measure.relative_width(measure.ratios(taken["plain"], ours))
                       for name, ours in taken.items() if name != "plain")

        runs = {name: lambda words=words: self.timed(words, timeout)["ms"] for name, words in commands.items()}
        return self.take(runs, spread, rule)

    @staticmethod
    def numbers_of(ratios):
        low, high = measure.interval(ratios)
        return {"ratio": round(statistics.median(ratios), 3), "interval": [round(low, 3), round(high, 3)]}

    def report(self, name, ratios, **detail):
        self.results.benchmark(name, **self.numbers_of(ratios), pairs=len(ratios), detail=detail)

    def report_runs(self, name, plain, ours, **detail):
        self.report(name, measure.ratios(plain, ours), plain_ms=plain, streamsan_ms=ours, **detail)

    def learned(self, name, source, *flags, options=ALL_MEASURED):
        """A program with measured footprints: one whose launches are all alike, or one that has first launches alone."""
        def run():
            program = self.built(source, "-std=c++20", *flags)
            taken = self.compared({"plain": [program], "ours": self.under([program], options)}, STEADY)
            self.report_runs(name, taken["plain"], taken["ours"])

        return Job((name,), run, lambda: self.memcheck([self.built(source, "-std=c++20", *flags), "1", "3", "1"]))

    def graph(self, name, word):
        """A graph of 1,000 nodes. How long the whole processes took is reported besides: the judge may need longer than the
        program that it watches."""
        def run():
            program = [self.built("graph.cu", "-std=c++20"), word]
            commands = {"plain": program, "ours": self.under(program)}
            whole = {key: [] for key in commands}

            def timed(key):
                start = time.monotonic()
                milliseconds = self.timed(commands[key], 120)["ms"]
                whole[key].append(round(time.monotonic() - start, 3))
                return milliseconds

            runs = {key: lambda key=key: timed(key) for key in commands}
            taken = self.take(runs, lambda taken: measure.relative_width(measure.ratios(taken["plain"], taken["ours"])),
                              GRAPHS)
            self.report_runs(name, taken["plain"], taken["ours"], plain_whole_s=whole["plain"],
                             streamsan_whole_s=whole["ours"])

        return Job((name,), run)

    def dependent(self):
        """A chain of short kernels that are launched to overlap."""
        # Waiting for the grid in front is an instruction of Hopper and later.
        program = self.built("dependent.cu", "-std=c++20", "-arch=sm_90")
        taken = self.compared({"plain": [program], "ours": self.under([program])}, STEADY)
        self.report_runs("dependent-launch", taken["plain"], taken["ours"])

    def host_guard(self, name, words, rule):
        """A correct program that lends host memory all the time. Where a step is short it runs without guards as well:
        that tells what recording its calls costs."""
        command = [self.built("host_guard.cu", "-std=c++20"), *words]
        commands = {"plain": command, "guarded": self.under(command, ("footprints=inferred", "host_guard=true"))}
        if words[0] == "read":
            commands["unguarded"] = self.under(command, ("footprints=inferred", "host_guard=false"))
        taken = self.compared(commands, rule)
        plain, guarded, more = taken["plain"], taken["guarded"], {}
        if "unguarded" in taken:
            unguarded = taken["unguarded"]
            more = {"unguarded_ms": unguarded, "recording_alone": measure.ratio(plain, unguarded),
                    "guards_alone": measure.ratio(unguarded, guarded)}
        self.report_runs(name, plain, guarded, **more)

    def locks(self):
        """A program whose threads lock a lot, with their order followed; and recorded without that."""
        program = self.built("locks.cpp", "-std=c++20", "-cudart", "none", f"-L{libcuda_folder(self.runner.null)}", "-lcuda")
        taken = self.compared({"plain": [program],
                               "followed": self.under([program]),
                               "recorded": self.under([program], ("footprints=inferred", "host_threads=joined"))}, LOCKS)
        plain, followed, recorded = taken["plain"], taken["followed"], taken["recorded"]
        self.report_runs("locks-16-threads", plain, followed, recorded_ms=recorded,
                         following_alone=measure.ratio(recorded, followed))

    def stress(self):
        """Threads that do nothing but launch; and one thread that does, for comparison."""
        program = self.built("stress.cu", "-std=c++20")
        taken = self.compared({"plain": [program], "ours": self.under([program])}, LOCKS)
        alone = self.compared({"plain": [program, "1"], "ours": self.under([program, "1"])}, LOCKS)
        self.report_runs("stress-16-threads", taken["plain"], taken["ours"],
                         one_thread=measure.ratio(alone["plain"], alone["ours"]))

    def sync_advice(self):
        """Programs as they are once the advice of --syncs is followed, over the same as they were."""
        programs = sync_advice.compared()
        source = self.runner.folder / "sync_advice_programs.cu"
        source.write_text(sync_advice.generated(programs))
        program = self.built(source, "-std=c++17", f"-I{SOURCES}", cases_syncs.INCLUDE)
        pairs = self.timed([program, cases_syncs.CYCLES, str(ADVICE_PAIRS)], 60)
        self.results.benchmark("sync-advice", pairs=ADVICE_PAIRS, **sync_advice.numbers(pairs))

    def driver_call(self):
        program = self.built("driver_call.cpp", "-cudart", "none", f"-L{libcuda_folder(self.runner.null)}", "-lcuda")

        def means(taken, options):
            """Added to a call, by pair."""
            return [measure.mean_of(measure.added([plain], [ours]), DRIVER_KINDS)
                    for plain, ours in zip(taken["plain"], taken[options])]

        def spread(taken):
            return max(measure.width(means(taken, options)) for options in DRIVER_NUMBERS.values())

        runs = {"plain": lambda: self.timed([program], 60)}
        for options in DRIVER_NUMBERS.values():
            runs[options] = lambda options=options: self.timed(self.under([program]), 60, options=options)
        taken = self.take(runs, spread, CALLS)
        for name, options in DRIVER_NUMBERS.items():
            each = measure.added(taken["plain"], taken[options])
            plain = {kind: statistics.median(run[kind] for run in taken["plain"]) for kind in each}
            added = means(taken, options)
            self.results.benchmark(name, value=round(statistics.median(added), 1), pairs=len(added),
                                   interval=list(measure.interval(added)),
                                   detail={"added_ns": each, "plain_ns": plain, "mean_of": list(DRIVER_KINDS)})

    def pytorch(self, steps):
        reason = machine.missing("module:torch")
        if reason:
            raise Unavailable(reason)
        return [sys.executable, str(SOURCES / "pytorch_step.py"), str(steps)]

    def pytorch_step(self):
        words = self.pytorch("turns")
        self.in_turns({"plain": words, "pytorch-step": self.under(words),
                       "pytorch-step-footprints": self.under(words, MEASURED)},
                      {"pytorch-step": "plain", "pytorch-step-footprints": "plain"}, STEP)

    def pytorch_parts(self):
        """What two parts of the default run cost on top of the rest of it."""
        words = self.pytorch("turns")
        self.in_turns({"default": self.under(words, MEASURED), "no-blocks": self.under(words, (*MEASURED, "torch_blocks=0")),
                       "no-python": self.under(words, (*MEASURED, "python_stacks=0"))},
                      {"torch-allocator": ("default", "no-blocks"), "python-stacks": ("default", "no-python")}, PARTS)

    def in_turns(self, commands, numbers, rule):
        """{number: (command, command beside it)}, or the latter alone where the number has the command's name: all by
        turns. If the command of a number fails, the others are still taken."""
        sides = {name: beside if isinstance(beside, tuple) else (name, beside) for name, beside in numbers.items()}
        starts = itertools.count(0, STEP_TURNS)

        def one_round():
            """{command: [[milliseconds of each copy] of each turn]}"""
            left = self.time_left()
            copies = {(name, copy): commands[name] for copy in range(STEP_COPIES) for name in commands}
            try:
                answers = self.take_turns(copies, STEP_TURNS, min(STEP_SECONDS, left), next(starts))
            except TurnFailed as error:
                if error.late and left < STEP_SECONDS:
                    raise Unavailable(TIME_LIMIT) from error
                name = error.name[0]
                hit = [number for number, pair in sides.items() if name in pair]
                if len(hit) == len(sides):
                    raise
                # That costs its own number, and not the others.
                del commands[name]
                for number in hit:
                    del sides[number]
                    self.results.test(BENCHMARK + number, FAIL, "the benchmark did not run", str(error))
                return one_round()
            return {name: [[answers[name, copy][turn]["ms"] for copy in range(STEP_COPIES)]
                           for turn in range(STEP_TURNS)] for name in commands}

        def ratios(rounds, number):
            """Of each round."""
            ours, beside = sides[number]
            return [measure.ratio_of_turns(turns[beside], turns[ours]) for turns in rounds]

        def spread(taken):
            return max(measure.relative_width(ratios(taken["rounds"], number)) for number in sides)

        rounds = self.take({"rounds": one_round}, spread, rule)["rounds"]
        copies = {name: [measure.medians_of_turns(turns[name]) for turns in rounds] for name in commands}
        milliseconds = {name: [round(statistics.mean(each), 3) for each in copies[name]] for name in commands}
        for number, (ours, beside) in sides.items():
            apart = statistics.median(max(each) / min(each) for each in copies[beside])
            self.report(number, ratios(rounds, number), plain_ms=milliseconds[beside], streamsan_ms=milliseconds[ours],
                        copies=STEP_COPIES, turns=STEP_TURNS, plain_slowest_by_fastest=round(apart, 3))

    def pytorch_peers(self):
        words = self.pytorch(30)
        return [("torch-cuda-sanitizer", words, {"TORCH_CUDA_SANITIZER": "1"}), *self.memcheck(words)]

    def real_runs(self):
        """Programs that fail are tests that failed, each of its own."""
        open_ones = [name for name in real_runs.NEEDS
                     if any(self.wants(number(name)) for number in real_runs.NUMBERS)]
        runs = real_runs.RealRuns(self.timed, self.under, [sys.executable, str(SOURCES / "real_runs.py")],
                                  self.runner.folder)
        for name, rounds in runs.take(open_ones).items():
            for number, what in real_runs.NUMBERS.items():
                if isinstance(rounds, list):
                    self.results.benchmark(number(name), **real_runs.numbers_of(rounds, what))
                else:
                    verdict, words = (SKIP, str(rounds)) if isinstance(rounds, Unavailable) else (FAIL, "the benchmark did not run")
                    self.results.test(BENCHMARK + number(name), verdict, words, str(rounds))

    def engine(self):
        """The ordering engine alone, on one core, no GPU."""
        binary = next((p for p in sorted(self.product.rglob("streamsan_engine_benchmark")) if p.is_file()), None)
        if binary is None:
            raise Unavailable("no streamsan_engine_benchmark in the build tree")
        times = 1 if self.fewest else 5
        runs = sorted((self.timed([str(binary)], 60) for _ in range(times)), key=lambda run: run["value"])
        middle = runs[len(runs) // 2]
        detail = {key: value for key, value in middle.items() if key not in ("name", "value")}
        self.results.benchmark("engine-ops-per-s", value=middle["value"],
                               detail={**detail, "all_runs": [run["value"] for run in runs]})

    def run(self, null):
        for job in self.jobs():
            if (null and not job.null) or not any(map(self.wants, job.names)):
                continue
            before = {name: self.results.number(name) for name in job.names}
            try:
                job.run()
                continue
            except Unavailable as reason:
                verdict, words, text = SKIP, str(reason), ""
            except (Failed, BuildError, KeyError) as error:
                verdict, words, text = FAIL, "the benchmark did not run", str(error)
            for name, number in before.items():
                if number is None:
                    self.results.test(BENCHMARK + name, verdict, words, text)

    def run_peers(self):
        """Other tools on the programs whose numbers are known: each once, over the median plain run. One that does not
        run is noted. How many there was no time for."""
        too_late = 0
        for job in self.jobs():
            numbers = list(filter(None, map(self.results.number, filter(self.is_chosen, job.names))))
            if not numbers or not job.peers:
                continue
            try:
                peers = job.peers()
            except (Unavailable, BuildError) as error:
                self.results.note(f"==== {job.names[0]}, peers: {error}")
                continue
            for peer, words, env in peers:
                if all(peer in number["peers"] for number in numbers):
                    continue
                try:
                    milliseconds = self.timed(words, 150, **env)["ms"]
                except (Unavailable, Failed) as error:
                    self.results.note(f"==== {job.names[0]}, peer {peer}: {error}")
                    too_late += str(error) == TIME_LIMIT
                    continue
                for number in numbers:
                    self.results.peer(number["name"], peer, measure.against(number["detail"]["plain_ms"], milliseconds))
        return too_late
