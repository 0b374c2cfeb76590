# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_perfetto.py FILE: a trace in Chrome's JSON format, read as strictly as Perfetto's importer reads it.

The rules are those of the Trace Event Format and of what Perfetto's trace processor counts as an error: times are whole
nanoseconds once they are read; events are sorted by time, in the order of the file where it is equal; slices of a thread
nest; an end of a flow belongs to the slice that began last on its thread; a flow has one beginning and one end, and leads
from the slice that began first. Prints the tracks, the slices with their depth, and what the arrows join; anything wrong
ends it.
"""
import collections
import json
import re
import sys

KNOWN = {"M": {"name", "args"}, "X": {"ts", "dur", "name", "cat", "args"}, "i": {"s", "ts", "name", "cat", "args"},
         "s": {"ts", "id", "name", "cat"}, "f": {"ts", "id", "name", "cat", "bp"}}


def nanoseconds(value, where):
    assert isinstance(value, (int, float)) and not isinstance(value, bool), where
    exact = round(value * 1000)
    assert abs(exact - value * 1000) < 0.01 and 0 <= exact < 1 << 62, f"no whole nanoseconds: {where}"
    return exact


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)


raw = open(sys.argv[1], "rb").read()
assert re.match(rb'\{"traceEvents":\[', raw), "the events come first: Perfetto looks at the beginning to know the format"
trace = json.loads(raw.decode("utf-8"), parse_constant=lambda name: sys.exit(f"{name} is no JSON"))
assert set(trace) == {"traceEvents"}, "other keys end the reading in some versions"

owner, names = {}, {}  # by thread
events = []
for place, event in enumerate(trace["traceEvents"]):
    phase = event["ph"]
    assert phase in KNOWN, event
    assert set(event) == KNOWN[phase] | {"ph", "pid", "tid"}, event
    for number in ("pid", "tid"):
        assert type(event[number]) is int and 0 < event[number] < 1 << 32, event
    assert owner.setdefault(event["tid"], event["pid"]) == event["pid"], f"two processes have thread {event['tid']}"
    assert all("\0" not in text for text in texts(event)), f"a text ends at its first NUL: {event}"
    assert isinstance(event["name"], str) and event["name"], event
    if phase == "M":
        if event["name"] == "thread_name":
            assert event["tid"] not in names, event
            names[event["tid"]] = event["args"]["name"]
        continue
    assert event["tid"] in names, f"a track without a name: {event}"
    events.append((nanoseconds(event["ts"], event), place, event))
events.sort(key=lambda each: each[:2])

stacks = collections.defaultdict(list)  # of a thread: [slice], the innermost last; left there until the next one begins
slices, open_flows, arrows = [], {}, []
for ts, _, event in events:
    stack, phase = stacks[event["tid"]], event["ph"]
    if phase in "Xi":
        length = nanoseconds(event["dur"], event) if phase == "X" else 0
        assert phase == "X" or event["s"] == "t", event
        while stack and (stack[-1]["end"] < ts or stack[-1]["end"] == ts and (stack[-1]["length"] or length)):
            stack.pop()
        for outer in stack:
            assert ts + length <= outer["end"] or ts >= outer["end"], f"{event} does not nest in {outer}"
        stack.append({"name": event["name"], "ts": ts, "end": ts + length, "length": length, "depth": len(stack), "phase": phase,
                      "track": event["tid"]})
        slices.append(stack[-1])
        continue
    assert stack, f"no slice has begun where the arrow ends: {event}"
    holder = stack[-1]
    may_hold = holder["phase"] == "X" or phase == "f" and holder["name"] == "returned"
    assert holder["ts"] == ts and may_hold, f"the arrow belongs to {holder}: {event}"
    key = (event["id"], event["cat"], event["name"])
    if phase == "s":
        assert event["id"] not in [each for each, _, _ in open_flows], f"two arrows have one id: {event}"
        open_flows[key] = [holder]
    else:
        assert event["bp"] == "e", event
        assert len(open_flows.get(key, ())) == 1, f"an end without a beginning: {event}"
        first = open_flows[key][0]
        open_flows[key].append(holder)
        assert first is not holder, event
        assert first["ts"] <= holder["ts"], f"Perfetto would turn it around: {event}"
        arrows.append((event["cat"], event["name"], first, holder))
for key, ends in open_flows.items():
    assert len(ends) == 2, f"a beginning without an end: {key}"

for tid, name in names.items():
    print(f"track {tid}: {name}")
for each in slices:
    print(f"{'slice' if each['phase'] == 'X' else 'instant'} on {names[each['track']]}: {each['name']}"
          + (f" (depth {each['depth']})" if each["phase"] == "X" and each["depth"] else ""))
for category, name, first, last in arrows:
    print(f"{category} arrow, {name}: {first['name']} on {names[first['track']]} -> {last['name']} on {names[last['track']]}")
print(f"{len(slices)} slices and instants, {len(arrows)} arrows")
