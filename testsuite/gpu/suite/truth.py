# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Do footprints say exactly which bytes a kernel touched? Pure functions; see tests/test_truth.py.

A program of the truth table prints what its launches touch (programs/footprints/truth.h), `streamsan footprints --json`
what the trace of the same run says they do. Both are sets of bytes for each mode, and sets are compared, so how they are
cut into pieces does not matter. Three kinds of statements:

  truth              exactly these bytes in this mode; in the modes a program does not name for the launch, none
  truth, "honest"    the same if the footprint claims to be exact. It may also be an upper bound, which must hold all the
                     bytes, or incomplete; what it does claim to be exact must be true
  allowed            bytes that may be touched besides, and "why"

"launch" counts the launches whose name contains "kernel", from 0 in the order of the trace; "all" is all of them
together.
"""

import json

MODES = ("read", "write", "atomic")


def runs(pieces):
    """The runs of bytes [(begin, end)] of pieces [address, width, rows, pitch, slices, slice_pitch], as they come."""
    for address, width, rows, pitch, slices, slice_pitch in pieces:
        for number in range(max(1, slices)):
            begin = address + number * slice_pitch
            if rows > 1 and pitch == width:
                yield begin, begin + width * rows
                continue
            for row in range(max(1, rows)):
                yield begin + row * pitch, begin + row * pitch + width


def union(some):
    """Sorted, disjoint and not adjacent."""
    out = []
    for begin, end in sorted(run for run in some if run[0] < run[1]):
        if out and begin <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((begin, end))
    return out


def minus(left, right):
    """The bytes of `left` that are not in `right`; both as union() makes them."""
    out = []
    at = 0
    for begin, end in left:
        while at < len(right) and right[at][1] <= begin:
            at += 1
        following = at
        while following < len(right) and right[following][0] < end:
            if begin < right[following][0]:
                out.append((begin, right[following][0]))
            begin = max(begin, right[following][1])
            following += 1
        if begin < end:
            out.append((begin, end))
    return out


def size(some):
    return sum(end - begin for begin, end in some)


def describe(some):
    shown = ", ".join(f"{begin:#x}+{end - begin}" for begin, end in some[:4])
    return f"{size(some)} bytes ({shown}{', ...' if len(some) > 4 else ''})"


def statements(text):
    """The statements of a program's output: [{"what": "truth" or "allowed", "kernel", "launch", "mode", "pieces"}]."""
    found = []
    for line in text.splitlines():
        if line.startswith(('{"truth":', '{"allowed":')):
            (what, statement), = json.loads(line).items()
            found.append({**statement, "what": what})
    return found


def read_launches(text):
    """One object a line, as `streamsan footprints --json` writes them."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def chosen(launches, kernel, launch):
    named = [one for one in launches if kernel in one.get("kernel", "") or kernel in one.get("demangled", "")]
    return named if launch == "all" else named[launch : launch + 1]


def bytes_of(launches, mode, widened=None):
    """widened: True or False to take only such pieces."""
    pieces = [piece for launch in launches for piece in launch["pieces"] if piece["mode"] == mode]
    return union(runs([piece["address"], piece["width"], piece.get("rows", 1), piece.get("pitch", 0),
                       piece.get("slices", 1), piece.get("slice_pitch", 0)]
                      for piece in pieces if widened is None or bool(piece.get("widened")) == widened))


def compare_exact(where, launches, expected, allowed):
    found = []
    for launch in launches:
        found += [f"{where}: a piece of mode '{piece['mode']}'" for piece in launch["pieces"]
                  if piece["mode"] not in MODES]
        if launch["known"] != "measured" or not launch["complete"]:
            found.append(f"{where}: {launch['known']}, {'complete' if launch['complete'] else 'incomplete'}; "
                         "expected measured, complete")
    for mode in MODES:
        if bytes_of(launches, mode, widened=True):
            found.append(f"{where}, {mode}: an upper bound, expected exact bytes")
        seen = bytes_of(launches, mode)
        for what, some in (("missing", minus(expected[mode], seen)),
                           ("too many", minus(minus(seen, expected[mode]), allowed[mode]))):
            if some:
                found.append(f"{where}, {mode}: {what}: {describe(some)}")
    return found


def compare_honest(where, launches, expected, allowed):
    complete = all(launch["complete"] for launch in launches)
    found = []
    for mode in MODES:
        claimed = minus(minus(bytes_of(launches, mode, widened=False), expected[mode]), allowed[mode])
        if claimed:
            found.append(f"{where}, {mode}: claimed and not true: {describe(claimed)}")
        missing = minus(expected[mode], bytes_of(launches, mode))
        if complete and missing:
            found.append(f"{where}, {mode}: said to be complete, missing: {describe(missing)}")
    return found


def compare(stated, launches):
    """(complaints, what was compared, as lines of text)."""
    groups = {}
    for statement in stated:
        groups.setdefault((statement["kernel"], statement["launch"]), []).append(statement)
    if not groups:
        return ["the program states no truth"], []
    found, compared = [], []
    for (kernel, launch), group in groups.items():
        where = f"launch {launch} of '{kernel}'"
        selected = chosen(launches, kernel, launch)
        if not selected:
            found.append(f"{where} is not in the trace")
            continue
        expected, allowed = (
            {mode: union(runs(piece for s in group if s["what"] == what and s["mode"] == mode for piece in s["pieces"]))
             for mode in MODES} for what in ("truth", "allowed"))
        honest = any(s.get("honest") for s in group)
        found += (compare_honest if honest else compare_exact)(where, selected, expected, allowed)
        sizes = ", ".join(f"{mode} {size(expected[mode])}" for mode in MODES if expected[mode])
        extra = 0
        for mode in MODES:
            more = minus(bytes_of(selected, mode), expected[mode])
            extra += size(more) - size(minus(more, allowed[mode]))
        compared.append(f"{where}: {sizes} bytes{f', {extra} allowed besides' if extra else ''}")
    return found, compared
