# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that are compared, in rounds, and when there are enough of them. See tests/test_pairs.py.

A round runs each command once; who is first changes from round to round, so that neither a drift of the machine nor
the place in the round favours one. After each cycle (as many rounds as commands) it is asked how far the ends of the
interval of the median are apart (measure.interval), and if they are close enough that was the last round.

THE RULE SEES THE SPREAD ONLY, never where the median lies: a rule that stops when the number is good makes it good.
There is a least number of rounds, below which no interval means anything, and a largest one. The interval is that of a
number of rounds that was settled before; asking several times makes it a little too narrow.
"""

import math
import time
from dataclasses import dataclass

from suite.results import TIME_LIMIT


class Unavailable(Exception):
    """Why a benchmark is skipped."""


class Failed(Exception):
    pass


@dataclass(frozen=True)
class Rule:
    narrow: float  # wide enough for the interval, in the unit of spread()
    fewest: int = 6
    most: int = 18
    seconds: float = math.inf  # no further round after so long, beyond the fewest


def take(runs, spread, rule, time_left=lambda: math.inf):
    """Rounds of runs {name: function that returns a measurement}: {name: [measurement of each round]}.

    spread(taken): the largest width of what will be reported. No round begins that would not be over in time_left(); if
    that leaves too few of them, Unavailable.
    """
    taken = {name: [] for name in runs}
    start = time.monotonic()
    rounds, latest = 0, 0.0
    while rounds < rule.most:
        if rounds >= rule.fewest and rounds % len(taken) == 0 and spread(taken) <= rule.narrow:
            break
        if rounds >= rule.fewest and time.monotonic() - start > rule.seconds:
            break
        # Not by the longest: the first round also reads programs from a cold disk.
        needed = latest * max(1, rule.fewest - rounds) if rounds != 1 else latest
        if time_left() <= needed:
            if rounds >= rule.fewest:
                break
            raise Unavailable(TIME_LIMIT + (f": {rounds} of at least {rule.fewest} rounds taken" if rounds else ""))
        begun = time.monotonic()
        names = list(taken)
        first = rounds % len(names)
        try:
            for name in names[first:] + names[:first]:
                taken[name].append(runs[name]())
        except Unavailable as reason:
            if rounds < rule.fewest or not str(reason).startswith(TIME_LIMIT):
                raise
            return {name: values[:rounds] for name, values in taken.items()}
        latest = time.monotonic() - begun
        rounds += 1
    return taken
