# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arithmetic of the benchmarks: medians of pairs. Pure functions; see tests/test_measure.py.

Plain and instrumented runs alternate, and each instrumented run is compared with the plain one beside it, so a drift of
the machine cancels; the median over the pairs drops the pair in which something else woke up.

How sure a median is, is said by an interval between two of the sorted pairs. It asks nothing of how pairs are
distributed: each lies above the true median as often as below, so the chance that the interval misses it is that of a
coin.
"""

import json
import math
import statistics

MISSED = 0.05  # most of the intervals that do not hold the true median


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


def ratios(plain, instrumented):
    """instrumented / plain of each pair."""
    return [i / p for p, i in zip(plain, instrumented)]


def ratio(plain, instrumented):
    """Median over the pairs of instrumented / plain."""
    return round(statistics.median(ratios(plain, instrumented)), 3)


def ratio_of_turns(plain, instrumented):
    """instrumented / plain of processes that took turns: of each, the times of all copies, turn by turn. Copies of one
    turn are averaged, and the median is over the turns."""
    return statistics.median(statistics.mean(i) / statistics.mean(p) for p, i in zip(plain, instrumented))


def medians_of_turns(turns):
    """Of each copy."""
    return [round(statistics.median(copy), 3) for copy in zip(*turns)]


def interval(values):
    """(low, high) around the median, or None: fewer than six values say nothing with this confidence."""
    values = sorted(values)
    missed, outside = 0.0, 0
    while (missed := missed + 2 * math.comb(len(values), outside) / 2 ** len(values)) <= MISSED:
        outside += 1
    return (values[outside - 1], values[-outside]) if outside else None


def relative_width(values):
    """How far the ends of the interval are apart, as a share; infinite where there is none."""
    ends = interval(values)
    return ends[1] / ends[0] - 1 if ends and ends[0] > 0 else math.inf


def width(values):
    ends = interval(values)
    return ends[1] - ends[0] if ends else math.inf


def against(plain, value):
    """A single run against the median of the plain ones."""
    return round(value / statistics.median(plain), 2)
