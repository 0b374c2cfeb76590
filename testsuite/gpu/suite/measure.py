# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arithmetic of the benchmarks: medians of pairs. Pure functions; see tests/test_measure.py.

Plain and instrumented runs alternate, and each instrumented run is compared with the plain one beside it, so a drift of
the machine cancels; the median over the pairs drops the pair in which something else woke up.
"""

import json
import statistics


def last_json(text):
    """The last line of the output that is a JSON object; None if there is none."""
    for line in reversed(text.splitlines()):
        if line.lstrip().startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None


def added(plain, instrumented):
    """{kind: median added time}, from one dictionary for each run, paired by position."""
    pairs = list(zip(plain, instrumented))
    return {kind: round(statistics.median(i[kind] - p[kind] for p, i in pairs), 1) for kind in plain[0]}


def mean_of(numbers, kinds):
    return round(statistics.mean(numbers[kind] for kind in kinds), 1)


def ratio(plain, instrumented):
    """Median over the pairs of instrumented / plain."""
    return round(statistics.median(i / p for p, i in zip(plain, instrumented)), 3)


def against(plain, value):
    """A single run against the median of the plain ones."""
    return round(value / statistics.median(plain), 2)
