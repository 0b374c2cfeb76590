#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_tidy.py TIDY ID[,ID2...] SOURCE [TOOL-OPTION...] [--fix] [--suffix=NAME] [-- COMPILER-FLAG...]

Runs streamsan-tidy with the checks streamsan-ID alone and compares everything it says with what SOURCE expects:

    // CHECK-MESSAGES: :[[@LINE-1]]:5: warning: text of the message [streamsan-ID]
    // CHECK-NOTES: :[[@LINE-7]]:3: note: text of the note
    // CHECK-FIXES:   a line as --fix leaves it
    // OPTIONS: streamsan.Levels: definite;latent;maybe

The n-th warning printed must be the n-th CHECK-MESSAGES, letter by letter, and no warning may be left over on
either side. Notes likewise, if the file has a CHECK-NOTES. A place in another file is written header.h:12:5. Until the
words of a file are settled, `// FIRES: ID` at the end of a line stands for one warning of that check on that line;
update_checks.py writes the words.

A file without expectations must be silent. Silence proves nothing where nothing was looked at: the tool must say that
it analysed functions, and all that it has seen. NOT-ANALYSED: N allows for N functions that it knowingly leaves out.
No comment of a file may still begin with TO WRITE, as scripts/new-check leaves it.

    --fix            SOURCE, repaired by --fix, has the CHECK-FIXES lines in this order, and is then silent
    --suffix=NAME    the expectations are CHECK-MESSAGES-NAME, CHECK-NOTES-NAME and CHECK-FIXES-NAME
                     A word like these that no RUN line asks for, as CHECK-FIXES-NEXT, is an error
    -- -DFIXED       the repaired twin in the same file: no expectations, unless a suffix is given
"""
import os
import re
import subprocess
import sys
import tempfile

inputs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")
languages = {
    ".cu": ["-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"],
    ".hip": ["-x", "hip", "--cuda-host-only", "-nogpuinc", "-nogpulib"],
    ".cpp": ["-x", "c++"],
}


def flags_for(source):
    return [*languages[os.path.splitext(source)[1]], "-isystem", inputs]


def same_file(name, source):
    return os.path.exists(name) and os.path.samefile(name, source)


class Expectations:
    def __init__(self, source, suffix, none):
        self.warnings, self.notes, self.fixes, self.options, self.fires = [], [], [], [], []
        self.not_analysed = 0
        with open(source, encoding="utf-8") as text:
            lines = text.readlines()
        self.unwritten = [line.strip() for line in lines if line.startswith("// TO WRITE:")]
        self.suffixes = {"", suffix, *re.findall(r"--suffix=(\w+)", "".join(lines))}
        for number, line in enumerate(lines, 1):
            self.read(number, line, suffix, none)
        if self.fires and self.warnings:
            sys.exit("check_tidy: FIRES and CHECK-MESSAGES in one file: the words are either settled or not")

    def read(self, number, line, suffix, none):
        if found := re.search(r"//\s*OPTIONS:\s*(.*\S)", line):
            self.options.append(found[1])
        if found := re.search(r"//\s*NOT-ANALYSED:\s*(\d+)", line):
            self.not_analysed = int(found[1])
        if (found := re.search(r"//\s*FIRES:\s*(\S+)", line)) and not none:
            self.fires.append((number, found[1]))
        if not (word := re.search(r"//\s*(CHECK-[\w-]*:?)", line)):
            return
        found = re.search(r"//\s*CHECK-(MESSAGES|NOTES|FIXES)(?:-(\w+))?:\s?(.*)", line)
        if not found or (found[2] or "") not in self.suffixes:
            sys.exit(f"check_tidy: line {number}: nothing looks at {word[1]}")
        kind, named, text = found[1], found[2] or "", found[3].strip()
        if none or named != suffix:
            return
        text = re.sub(r"\[\[@LINE([+-]\d+)?\]\]", lambda m: str(number + int(m[1] or 0)), text)
        {"MESSAGES": self.warnings, "NOTES": self.notes, "FIXES": self.fixes}[kind].append(text)


class Run:
    """One run of the tool: what it printed, taken apart."""

    def __init__(self, tidy, checks, source, options, flags):
        names = ",".join(["-*", *(f"streamsan-{check}" for check in checks)])
        command = [tidy, f"--checks={names}", *options, source, "--", *flags_for(source), *flags]
        self.command = " ".join(command)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        self.code, self.output = done.returncode, done.stdout + done.stderr
        self.diagnostics, self.warnings, self.notes = [], [], []
        for line in done.stdout.splitlines():
            if not (found := re.match(r"(.*?)(:\d+:\d+: (warning|error|note): .*)", line)):
                continue
            # The file under test is left out, any other file keeps its name.
            place = "" if same_file(found[1], source) else os.path.basename(found[1])
            self.diagnostics.append(place + found[2])
            (self.notes if found[3] == "note" else self.warnings).append(place + found[2])
        counts = re.search(r"(\d+) of (\d+) functions? analy[sz]ed", self.output)
        self.analysed, self.seen = (int(counts[1]), int(counts[2])) if counts else (0, 0)

    def fail(self, why):
        sys.exit(f"check_tidy: {why}\n--- {self.command}\n--- exit code {self.code}\n{self.output}")

    def looked(self, left_out):
        """The tool ran, and at functions it was not blind for."""
        if self.code not in (0, 1):
            self.fail("the tool could not run")
        if self.analysed == 0:
            self.fail("no function was analysed: the test shows nothing")
        if self.seen - self.analysed != left_out:
            self.fail(f"{self.seen - self.analysed} functions were not analysed, expected {left_out}")

    def silent(self):
        if self.warnings:
            self.fail("the tool is not silent")
        if self.code != 0:
            self.fail("silent, but the exit code is not 0")


def compare(run, what, actual, expected):
    for number, text in enumerate(expected):
        if number >= len(actual):
            run.fail(f"missing {what}: {text}")
        if text != actual[number]:
            run.fail(f"{what} {number + 1} is\n    {actual[number]}\nexpected\n    {text}")
    if len(actual) > len(expected):
        run.fail(f"unexpected {what}: {actual[len(expected)]}")


def compare_fires(run, fires):
    actual = sorted((int(found[1]), found[2]) for line in run.warnings
                    if (found := re.match(r":(\d+):.*\[streamsan-([\w-]+)[\],]", line)))
    if len(actual) != len(run.warnings) or actual != sorted(fires):
        run.fail(f"fires at {actual}, expected {sorted(fires)}")


def check_fixes(tidy, checks, source, options, flags, expected):
    if not expected.fixes:
        sys.exit("check_tidy: --fix needs CHECK-FIXES")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(source))
        with open(source, encoding="utf-8") as text, open(copy, "w", encoding="utf-8") as out:
            out.write(text.read())
        fixing = Run(tidy, checks, copy, [*options, "--fix"], flags)
        with open(copy, encoding="utf-8") as text:
            lines = [line.split("// FIRES:")[0].strip() for line in text if "CHECK-FIXES" not in line]
        position = 0
        for text in expected.fixes:
            if text not in lines[position:]:
                fixing.fail(f"no line '{text}' after --fix, in this order. The file is now\n" + "\n".join(lines))
            position = lines.index(text, position) + 1
        again = Run(tidy, checks, copy, options, flags)
        again.looked(expected.not_analysed)
        again.silent()


def split_arguments(arguments):
    """What stands before and behind the first --."""
    if "--" not in arguments:
        return arguments, []
    cut = arguments.index("--")
    return arguments[:cut], arguments[cut + 1:]


def settings_of(expected):
    """The option that hands over the OPTIONS of a source."""
    if not expected.options:
        return []
    pairs = (option.split(":", 1) for option in expected.options)
    settings = ", ".join(f"{key.strip()}: '{value.strip()}'" for key, value in pairs)
    return [f"--config={{CheckOptions: {{{settings}}}}}"]


def main():
    arguments, flags = split_arguments(sys.argv[1:])
    tidy, checks, source, *options = arguments
    checks = checks.split(",")
    suffix = next((o.split("=", 1)[1] for o in options if o.startswith("--suffix=")), "")
    fix = "--fix" in options
    expected = Expectations(source, suffix, none="-DFIXED" in flags and not suffix)
    if expected.unwritten:
        sys.exit(f"check_tidy: {expected.unwritten[0]}")
    options = [o for o in options if o != "--fix" and not o.startswith("--suffix=")] + settings_of(expected)

    run = Run(tidy, checks, source, options, flags)
    run.looked(expected.not_analysed)
    if expected.fires:
        compare_fires(run, expected.fires)
    else:
        compare(run, "warning", run.warnings, expected.warnings)
    if expected.notes:
        compare(run, "note", run.notes, expected.notes)
    if not expected.warnings and not expected.fires:
        run.silent()
    if fix:
        check_fixes(tidy, checks, source, options, flags, expected)


if __name__ == "__main__":
    main()
