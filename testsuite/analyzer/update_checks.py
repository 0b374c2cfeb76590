#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""update_checks.py TIDY SOURCE...

Writes what streamsan-tidy says now as CHECK-MESSAGES and CHECK-NOTES into tests of check_tidy.py, in place of those that
stand there, and of `// FIRES: ID`. Each is put below the line that it is about.

Words may change by this, findings may not: a test whose warnings are not on the lines, and of the checks, that it
expects is left as it is and named; so is one whose runs say different things, or that depends on what stands between
two lines. Exit code 1 if there was one.
"""
import re
import sys

from check_tidy import Expectations, Run, settings_of, split_arguments

MARKER = re.compile(r"\s*//\s*(?:FIRES|CHECK-MESSAGES|CHECK-NOTES):.*$")
LINE = re.compile(r"(.*?):(\d+):(\d+): (warning|error|note): (.*)")


def runs(text):
    """The arguments of every %check that has expectations."""
    for command in re.findall(r"//\s*RUN:\s*%check (.*)", text):
        arguments = [word for word in command.split() if word not in ("%s", "--fix")]
        if any(word.startswith("--suffix=") for word in arguments):
            raise ValueError("has expectations of several kinds")
        if "-DFIXED" not in arguments:
            yield arguments


def said(tidy, source, arguments, expected):
    """[(warning, [note, ...]), ...], each as the match of LINE."""
    (checks, *options), flags = split_arguments(arguments)
    run = Run(tidy, checks.split(","), source, [*options, *settings_of(expected)], flags)
    run.looked(expected.not_analysed)
    result = []
    for line in run.diagnostics:
        found = LINE.match(line)
        if found[4] == "note":
            result[-1][1].append(found)
        else:
            result.append((found, []))
    return result


def finding(line, message):
    return int(line), re.search(r"\[streamsan-([\w-]+)[\],]", message)[1]


def expected_findings(expected):
    if expected.fires:
        return sorted(expected.fires)
    found = (re.match(r":(\d+):\d+: (?:warning|error): (.*)", text) for text in expected.warnings)
    return sorted(finding(match[1], match[2]) for match in found if match)


def updated(lines, findings):
    """`lines`, without the old expectations and with the new ones below the lines that they are about."""
    in_order = all(int(a[0][2]) <= int(b[0][2]) for a, b in zip(findings, findings[1:]))
    last = max((int(warning[2]) for warning, _ in findings), default=0)
    below, moved, kept = {}, {}, []
    for warning, notes in findings:
        below.setdefault(int(warning[2]) if in_order else last, []).extend([warning, *notes])
    at = 0
    for number, line in enumerate(lines, 1):
        bare = MARKER.sub("", line)
        if bare or not line.strip():
            at += 1
            kept.append((number, bare))
        moved[number] = at
        at += len(below.get(number, []))
    result = []
    for number, line in kept:
        result.append(line)
        for said_there in below.get(number, []):
            file, place, column, kind, message = said_there.groups()
            if not file:
                place = f"[[@LINE{moved[int(place)] - len(result) - 1:+d}]]"
            what = "NOTES" if kind == "note" else "MESSAGES"
            result.append(f"// CHECK-{what}: {file}:{place}:{column}: {kind}: {message}")
    return result


def write(source, text):
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)


def update(tidy, source):
    with open(source, encoding="utf-8") as text:
        content = text.read()
    expected = Expectations(source, "", none=False)
    all_runs = [said(tidy, source, arguments, expected) for arguments in runs(content)]
    spelled = [[[d.group(0) for d in (warning, *notes)] for warning, notes in run] for run in all_runs]
    if not all_runs or any(run != spelled[0] for run in spelled):
        raise ValueError("its runs say different things")
    here = sorted(finding(warning[2], warning[5]) for warning, _ in all_runs[0] if not warning[1])
    if len(here) != len(all_runs[0]) or here != expected_findings(expected):
        raise ValueError(f"finds {here}, expected {expected_findings(expected)}")
    result = "\n".join(updated(content.split("\n"), all_runs[0]))
    if result == content:
        return
    write(source, result)
    after = Expectations(source, "", none=False)
    again = said(tidy, source, next(runs(content)), after)
    if sorted(finding(warning[2], warning[5]) for warning, _ in again) != expected_findings(after):
        write(source, content)
        raise ValueError("finds something else with its expectations below the lines")


def main():
    tidy, *sources = sys.argv[1:]
    failed = False
    for source in sources:
        try:
            update(tidy, source)
        except ValueError as why:
            failed = True
            print(f"{source}: {why}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
