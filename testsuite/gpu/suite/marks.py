# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads from a test of the run-time suite (testsuite/runtime) what its own CHECK lines say, so that the same sources are
tests on a GPU. Pure functions over the text of a source; see tests/test_marks.py.

Only lines about verdicts and advice are taken, each as a pattern of its own that the report must contain, in any order:
the rest says how the report is laid out, which the null driver tests well enough. `[[NAME]]` is the place of the comment
`// @NAME`, as in testsuite/tools/check-report.
"""

import re
from dataclasses import dataclass

ADVICE = re.compile(r"sync (unneeded|narrower|timing|unknown|needed): |is not known\.|Fix: |NOTE: streamsan: |^right$|"
                    r"synchronising call site|\d+ (unneeded|narrower|timing|unknown|needed)\b|that never had to wait|"
                    r"to be kept for others|both of these changes")
VERDICT = re.compile(r"sync (unneeded|narrower|timing|unknown|needed): (?:(?!\[\[).)*\[\[([A-Z][A-Z0-9_]*)\]\]")


@dataclass(frozen=True)
class Marks:
    text: tuple = ()  # patterns that the report contains
    absent: tuple = ()  # and does not
    syncs: tuple = ()  # (verdict, "file:line") of call sites
    fixed: bool = False  # there is a variant that follows the advice
    clean: bool = False  # of which nothing more can be recommended
    everything: bool = False  # what is needed is listed, too
    flags: tuple = ()  # for nvcc
    needs_null_driver: bool = False


def places(name, text):
    """{"SYNC": "file.cu:12"}"""
    return {mark: f"{name}:{number}" for number, line in enumerate(text.splitlines(), 1)
            for mark in re.findall(r"//.*?@([A-Z][A-Z0-9_]*)\b", line)}


def pattern(line, known):
    """The regular expression of a line of FileCheck, without the blanks at its ends."""
    out = ""
    for plain, code, mark in re.findall(r"((?:(?!\{\{|\[\[).)+)|\{\{(.*?)\}\}|\[\[([A-Z][A-Z0-9_]*)\]\]", line.strip()):
        out += re.escape(plain) + (f"(?:{code})" if code else "") + (re.escape(known[mark]) + r"\b" if mark else "")
    return out


def checks(text, prefix="CHECK"):
    """[(suffix, line)]: ("", "..."), ("-NOT", "..."), ("-NEXT", ...)"""
    return re.findall(rf"^// {prefix}((?:-[A-Z]+)?): ?(.*)$", text, re.MULTILINE)


def read(path):
    text = path.read_text()
    known = places(path.name, text)
    runs = re.findall(r"^// RUN: (.*)$", text, re.MULTILINE)
    lines = checks(text)
    return Marks(
        text=tuple(pattern(line, known) for suffix, line in lines if suffix != "-NOT" and ADVICE.search(line)),
        absent=tuple(pattern(line, known) for suffix, line in lines if suffix == "-NOT"),
        syncs=tuple((verdict, known[mark]) for suffix, line in lines if suffix != "-NOT"
                    for verdict, mark in VERDICT.findall(line)),
        fixed=any("-DFIXED" in run for run in runs),
        clean=any(suffix == "-NOT" and "unneeded|narrower" in line for suffix, line in checks(text, "FIXED")),
        everything=any("%all_syncs" in run for run in runs) and not any("%syncs" in run for run in runs),
        flags=("--default-stream", "per-thread") if any("%build_ptds" in run for run in runs) else (),
        needs_null_driver="REQUIRES: nulldriver" in text)
