# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Are the times that --timings takes those that the program knows? Pure functions; see tests/test_times.py.

A program prints, in milliseconds and in the order of submission,

  {"lasts": [NAME, [MS, ...]]}   how long the operations whose name contains NAME take, and that there are no others
  {"gap": [NAME, I, MS]}         how long the GPU does nothing between the end of number I of them and the next one
  {"blocked": MS}                how long the host is blocked in all its waits, at least, and not much longer

What was measured stands in the trace for Perfetto, whose slices on streams have the times of the GPU, and in the report.
"""

import json

STATEMENTS = ("lasts", "gap", "blocked")
SLACK_MS = 0.25
SLACK = 0.1  # of what is expected
LATE_MS = 3  # the host may be woken up late, and its first wait is longer


def statements(text):
    found = []
    for line in text.splitlines():
        if line.startswith(tuple(f'{{"{what}":' for what in STATEMENTS)):
            found += json.loads(line).items()
    return found


def near(ms, expected):
    return abs(ms - expected) <= SLACK_MS + SLACK * expected


def slices(document, name):
    """[(start, end)] in milliseconds, of operations whose name contains `name`, by submission."""
    events = [event for event in document["traceEvents"]
              if event.get("ph") == "X" and "op" in event.get("args", {}) and name in event["name"]]
    return [(event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3)
            for event in sorted(events, key=lambda event: event["args"]["op"])]


def compare(stated, document, report):
    """(complaints, what was compared)"""
    if not stated:
        return ["the program states no times"], []
    if document is None or report is None:
        return ["no times or no report were written"], []
    found, compared = [], []
    for what, value in stated:
        if what == "lasts":
            name, expected = value
            took = [end - start for start, end in slices(document, name)]
            shown = f"{name}: {', '.join(f'{ms:.3f}' for ms in took)} ms"
            right = len(took) == len(expected) and all(map(near, took, expected))
        elif what == "gap":
            name, number, expected = value
            seen = slices(document, name)
            ms = seen[number + 1][0] - seen[number][1] if number + 1 < len(seen) else -1
            shown, right = f"after number {number} of {name} nothing for {ms:.3f} ms", expected <= ms < expected + LATE_MS
        else:
            expected = value
            ms = sum(finding["sync"].get("blocked_ms") or 0 for finding in report["findings"] + report.get("waits", []) if finding.get("sync"))
            shown = f"the host was blocked for {ms:.3f} ms"
            right = expected - SLACK_MS - SLACK * expected <= ms < expected + LATE_MS
        compared.append(shown)
        if not right:
            found.append(f"{shown}; expected {expected}")
    return found, compared
