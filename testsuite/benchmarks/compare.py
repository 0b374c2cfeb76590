#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is this tree slower than an older one? Ratios of two builds, measured side by side on one machine, without a GPU.

    compare.py engine OLD NEW                          two builds of streamsan_engine_benchmark
    compare.py recorder OLD NEW --null DIR PROGRAM     two builds of libstreamsan.so, DIR with the null driver, and
                                                       driver_call.cpp, built and linked with -lcuda
    compare.py analyzer OLD NEW FILE... -- FLAG...     two builds of streamsan-tidy

Old and new take turns, and which is first changes from pair to pair. Printed is new over old: the median over the pairs,
and the interval in which the true median lies with 95 percent confidence. engine, analyzer: user CPU time of the
process. recorder: what is added to a driver call (suite/benchmarks.py has the same mean of three kinds); the library is
preloaded alone, so no judge competes for the processor. Compare ratios, never the times of two runs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from suite import measure  # noqa: E402

KINDS = ("record", "wait", "launch")


def user_seconds(words):
    """Of the process and its children."""
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"compare.py: exit code {process.returncode} of {' '.join(map(str, words))}")
    return usage.ru_utime


def nanoseconds(program, null, library, options):
    """The mean of the kinds of calls. `library`: the recorder; None: without one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_LIBRARY_PATH=null)
        if library:
            environment.update(LD_PRELOAD=library, STREAMSAN_OPTIONS=f"trace_path={folder}/trace:{options}")
        done = subprocess.run([program], env=environment, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"compare.py: exit code {done.returncode} of {program}\n{done.stderr}")
        if library and not (pathlib.Path(folder) / "trace").exists():
            sys.exit(f"compare.py: {library} has recorded nothing\n{done.stderr}")
        numbers = json.loads(done.stdout.splitlines()[-1])
        return statistics.mean(numbers[kind] for kind in KINDS)


def by_turns(pairs, old, new):
    """new() over old(), of each pair."""
    ratios = []
    for pair in range(pairs):
        if pair % 2:
            after = new()
            ratios.append(after / old())
        else:
            before = old()
            ratios.append(new() / before)
    return ratios


def report(name, ratios):
    low, high = measure.interval(ratios)
    print(f"{name}: new/old {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}], {len(ratios)} pairs", flush=True)


def main():
    own, flags = (sys.argv[1:], [])
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--"):]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["engine", "recorder", "analyzer"])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--null", help="folder of the null driver")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--operations", default="2000000", help="of the engine benchmark")
    given = parser.parse_args(own)
    old, new = (str(pathlib.Path(path).resolve()) for path in (given.old, given.new))
    if given.what == "engine":
        report("engine", by_turns(given.pairs, *(lambda b=b: user_seconds([b, given.operations]) for b in (old, new))))
    elif given.what == "analyzer":
        def all_of(tidy):
            return lambda: sum(user_seconds([tidy, file, *flags]) for file in given.rest)
        report(f"analyzer, {len(given.rest)} files", by_turns(given.pairs, all_of(old), all_of(new)))
    else:
        program, null = str(pathlib.Path(given.rest[0]).resolve()), str(pathlib.Path(given.null).resolve())
        for name, options in (("recorder", "stacks=0"), ("recorder, call stacks", "stacks=1")):
            def added(library, options=options):
                return lambda: (nanoseconds(program, null, library, f"footprints=inferred:{options}")
                                - nanoseconds(program, null, None, options))
            report(name, by_turns(given.pairs, added(old), added(new)))


if __name__ == "__main__":
    main()
