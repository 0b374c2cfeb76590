# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a test expects, and the comparison with what came out. Pure functions over plain data; see tests/test_expect.py.

Every finding of the report must be one of the expected ones or have a severity the test allows; every expected one must
be there in the expected number. So a racy test fails on a missed race and on a second, wrong one alike, and a silent
test on any finding at all.
"""

import json
import re
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """One expected entry of "findings". Empty fields match anything; the others are regular expressions."""

    severity: str = "error"
    kind: str = "race"
    hazard: str = ""
    cause: str = ""
    rule: str = ""
    count: int = 1
    at_least: bool = False

    def matches(self, finding):
        wanted = {"severity": self.severity, "kind": self.kind, "hazard": self.hazard, "cause": self.cause,
                  "rule": self.rule}
        return all(not value or re.fullmatch(value, finding.get(key) or "") for key, value in wanted.items())

    def __str__(self):
        words = [self.severity, self.kind, self.hazard, self.cause, self.rule]
        number = f"at least {self.count}" if self.at_least else str(self.count)
        return f"{number} x {' '.join(w for w in words if w)}"


@dataclass(frozen=True)
class Expect:
    exit: int = 0
    findings: tuple = ()
    allowed: tuple = ("note",)  # severities of findings that are not listed
    sites: tuple = ()  # names of "site:" comments, each of whose lines the text must name
    text: tuple = ()  # regular expressions the text must contain
    absent: tuple = ()  # and those it must not
    syncs: tuple = ()  # (verdict, "file:line") of synchronising call sites
    advised: bool = True  # may a wait be called unneeded, or something narrower be proposed?
    quiet: bool = False  # nothing may be printed but what the program prints by itself
    lines: tuple = ()  # (least, most): number of different lines printed, see messages()
    overlap: bool = False  # each error is about bytes that the program printed, see printed_overlaps()


@dataclass
class Outcome:
    """What a run left behind. report is the parsed JSON, None if none was written."""

    exit: int = 0
    text: str = ""  # what it printed to stdout, then what it printed to stderr
    report: object = None
    timed_out: bool = False
    complaints: list = field(default_factory=list)  # found by the runner itself
    detail: list = field(default_factory=list)  # for results.json: what was compared
    stdout: str = ""
    plain: object = None  # the Outcome of the program by itself, where that was run


SILENT = Expect(quiet=True)
NO_ERROR = Expect(allowed=("note", "possible"))


def site_line(source, name):
    """Number of the line that ends in the comment "site: NAME"."""
    for number, line in enumerate(Path(source).read_text().splitlines(), 1):
        if re.search(rf"(//|#)\s*site:\s*{re.escape(name)}\s*$", line):
            return number
    raise ValueError(f"{source} has no site '{name}'")


def messages(text):
    """The lines that are not blank. What the recorder says at once the launcher says again with the report: one line."""
    prefix = re.compile(r"^(streamsan\[\d+\]|==\d+== WARNING: streamsan): ")
    return {prefix.sub("", line) for line in text.splitlines() if line.strip()}


def printed_overlaps(text):
    """The ranges {(begin, end)} of the lines {"overlap": [address, bytes]} of a program."""
    lines = [json.loads(line)["overlap"] for line in text.splitlines() if line.startswith('{"overlap":')]
    return {(address, address + size) for address, size in lines}


def compare_overlaps(text, findings):
    """Complaints about errors whose overlapping bytes are not exactly those the program printed, or not shown so."""
    printed = printed_overlaps(text)
    if not printed:
        return ["the program printed no overlap"]
    found = []
    for finding in findings:
        if finding.get("severity") != "error":
            continue
        begin, end = (int(finding[key], 16) for key in ("overlap_begin", "overlap_end"))
        if (begin, end) not in printed:
            found.append(f"overlap {begin:#x}+{end - begin}, expected " +
                         " or ".join(f"{b:#x}+{e - b}" for b, e in sorted(printed)))
        elif not re.search(rf"{begin:#x} \[{end - begin} bytes overlap\]", text):
            found.append(f"the text does not say that the {end - begin} bytes at {begin:#x} overlap")
    return found


def describe(finding):
    words = (finding.get(key) for key in ("severity", "kind", "hazard", "cause", "rule"))
    return " ".join(w for w in words if w) + f": {finding.get('message', '')}"


def possibles(report):
    """What was found to be possible, in words; for results.json, so that what is not a failure is not hidden."""
    return sorted({f"{f.get('count', 1)} x {describe(f)}" for f in (report or {}).get("findings", [])
                   if f.get("severity") == "possible" and not f.get("suppressed")})


def compare_findings(expect, findings):
    complaints = []
    unexplained = list(findings)
    for wanted in expect.findings:
        matching = [f for f in unexplained if wanted.matches(f)]
        if len(matching) < wanted.count or (len(matching) > wanted.count and not wanted.at_least):
            complaints.append(f"expected {wanted}, found {len(matching)}")
        unexplained = [f for f in unexplained if not wanted.matches(f)]
    complaints += [f"unexpected finding: {describe(f)}" for f in unexplained if f.get("severity") not in expect.allowed]
    return complaints


def compare_syncs(expect, findings):
    """Complaints about what is said of synchronising calls. A call that never had anything to wait for costs nothing."""
    verdicts = [(finding["sync"]["verdict"], finding) for finding in findings if finding.get("sync")]
    found = [f"no wait at {place} is {verdict}" for verdict, place in expect.syncs
             if not any(said == verdict and re.search(re.escape(place) + r"\b", finding["message"])
                        for said, finding in verdicts)]
    if not expect.advised:
        found += [f"still {verdict}: {finding['message']}" for verdict, finding in verdicts
                  if verdict in ("unneeded", "narrower")
                  and finding["sync"].get("calls") != finding["sync"].get("idle_calls")]
    return found


def compare_plain(outcome):
    """Complaints about what the program did otherwise than it does by itself."""
    plain = outcome.plain
    if plain is None:
        return []
    found = ["timed out without StreamSan"] if plain.timed_out else []
    if outcome.exit != plain.exit:
        found.append(f"exit code {outcome.exit}, without StreamSan {plain.exit}")
    if outcome.stdout != plain.stdout:
        pairs = zip_longest(outcome.stdout.splitlines(), plain.stdout.splitlines(), fillvalue="(nothing)")
        ours, theirs = next(((a, b) for a, b in pairs if a != b), ("", ""))
        found.append(f"stdout differs: '{ours}', without StreamSan '{theirs}'")
    return found


def complaints(expect, outcome, source=None):
    """Everything about the outcome that is not as expected; empty: the test passes."""
    found = list(outcome.complaints)
    if outcome.timed_out:
        return [*found, "timed out"]
    if outcome.exit != expect.exit:
        found.append(f"exit code {outcome.exit}, expected {expect.exit}")
    if outcome.report is None:
        found.append("no JSON report")
    else:
        rows = outcome.report.get("findings", []) + outcome.report.get("waits", [])
        findings = [f for f in rows if not f.get("suppressed")]
        found += compare_findings(expect, findings)
        found += compare_syncs(expect, findings)
        if expect.overlap:
            found += compare_overlaps(outcome.text, findings)
    for name in expect.sites:
        place = f"{Path(source).name}:{site_line(source, name)}"
        if not re.search(re.escape(place) + r"\b", outcome.text):
            found.append(f"the text does not name {place} ({name})")
    found += [f"the text does not match /{pattern}/" for pattern in expect.text
              if not re.search(pattern, outcome.text, re.MULTILINE)]
    found += [f"the text matches /{pattern}/" for pattern in expect.absent
              if re.search(pattern, outcome.text, re.MULTILINE)]
    lines = len(messages(outcome.text))
    if expect.lines and not expect.lines[0] <= lines <= expect.lines[1]:
        found.append(f"{lines} lines printed, expected {expect.lines[0]} to {expect.lines[1]}")
    own = outcome.plain.text if outcome.plain else ""
    if expect.quiet and outcome.text.strip() != own.strip():
        ours = messages(outcome.text) - messages(own)
        found.append(f"not silent: {min(ours, default='its own output is not complete')}")
    return found + compare_plain(outcome)
