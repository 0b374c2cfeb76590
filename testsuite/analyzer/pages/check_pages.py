#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_pages.py [--update] SOURCE_ROOT TIDY COMPILER-FLAG...

Keeps docs/checks/ true. A page has blocks of these kinds:

    ```cuda firing     an example for which the check warns
    ```text output     all that the tool then says of it: each warning and note, without the source lines below them
    ```cuda silent     the repaired example

Each example is analysed as example.cu, with the check of its page on top of those that are on by default. A firing
example must give its output, letter by letter; a silent one must give none, although all its functions were analysed.
Every check of checks.def must have its page, with its id for a title, and its row in README.md, with its summary.
Neither may have a line left of those that scripts/new-check begins with TO WRITE; what the prose says is not looked at.

    --update    writes what the tool says into the output blocks. Read it before you believe it.
                `lit -Dupdate=1 build/testsuite/analyzer/pages/pages.test` does it with the flags of the test; what it
                has written is still a complaint, and the next run is clean.
"""
import os
import re
import subprocess
import sys
import tempfile

block = re.compile(r"^```(cuda firing|text output|cuda silent)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
row = re.compile(r'^SS_CHECK\(\w+, "([\w-]+)", (\w+), "(.*)"\)$', re.MULTILINE)
defaults = {"Correctness": "yes", "Performance": "no", "Policy": "no"}


def analyse(tidy, flags, check, source):
    """What the tool says of an example, and why that says nothing, if so."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        file = os.path.join(folder, "example.cu")
        with open(file, "w", encoding="utf-8") as out:
            out.write(source)
        command = [tidy, f"--checks=streamsan-{check}", "--config={}", file, "--", *flags]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
        said = [line.replace(folder + os.sep, "") for line in done.stdout.splitlines()
                if re.match(r".*?:\d+:\d+: (warning|error|note): ", line)]
    counts = re.search(r"(\d+) of (\d+) functions? analy[sz]ed", done.stdout + done.stderr)
    if done.returncode not in (0, 1) or "error:" in done.stdout:
        return said, f"the tool could not run, exit code {done.returncode}:\n{done.stdout}{done.stderr}"
    if not counts or counts[1] == "0" or counts[1] != counts[2]:
        return said, f"not all was analysed:\n{done.stdout}{done.stderr}"
    return said, ""


def unwritten(text):
    """Complaints about what stands where scripts/new-check has put it, to be replaced."""
    return [f"is to be written: {line}" for line in re.findall(r"TO WRITE: (.*)$", text, re.MULTILINE)]


def check_page(text, check, run):
    """Complaints about a page, and the page with the output that the tool gives."""
    complaints, pieces, end = unwritten(text), [], 0
    if not text.startswith(f"# streamsan-{check}\n"):
        complaints.append(f"the title is not 'streamsan-{check}'")
    kinds = [found[1] for found in block.finditer(text)]
    if not re.fullmatch("(firing output )+(silent )+", "".join(kind.split()[1] + " " for kind in kinds)):
        complaints.append(f"wants blocks 'cuda firing' and 'text output', then 'cuda silent'; has {kinds}")
    said, problem = [], ""
    for found in block.finditer(text):
        kind, content = found[1], found[2]
        if kind == "text output":
            actual = "".join(line + "\n" for line in said)
            if content != actual:
                complaints.append(f"shows\n{content}but the tool says\n{actual}")
            # Of a tool that could not run nothing is written.
            pieces += [text[end:found.start(2)], content if problem else actual]
            end = found.end(2)
            continue
        said, problem = run(check, content)
        if problem:
            complaints.append(f"{kind} example: {problem}")
        if kind == "cuda firing" and not any(f"[streamsan-{check}]" in line for line in said):
            complaints.append("firing example: the check does not fire")
        if kind == "cuda silent" and said:
            complaints.append("silent example: the tool says\n" + "\n".join(said))
    return complaints, "".join(pieces) + text[end:]


def main():
    arguments = sys.argv[1:]
    update = arguments[:1] == ["--update"]
    root, tidy, *flags = arguments[update:]
    tidy = os.path.abspath(tidy)
    folder = os.path.join(root, "docs", "checks")
    with open(os.path.join(root, "analyzer", "analysis", "checks.def"), encoding="utf-8") as text:
        rows = text.read()
    checks = row.findall(rows)
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as text:
        table = text.read()
    if not checks:
        sys.exit("check_pages: no check in checks.def")

    failures = 0
    def complain(page, what):
        nonlocal failures
        failures += 1
        print(f"check_pages: {page}: {what}")

    for what in unwritten(rows):
        complain("checks.def", what)
    strangers = {name for name in os.listdir(folder) if name.endswith(".md")} - {"README.md"}
    for check, group, summary in checks:
        page = f"{check}.md"
        strangers.discard(page)
        if f"| [{check}]({page}) | {group} | {defaults[group]} | {summary} |" not in table:
            complain("README.md", f"wants the row of {check}: {group}, {defaults[group]}, {summary}")
        try:
            with open(os.path.join(folder, page), encoding="utf-8") as text:
                written = text.read()
        except FileNotFoundError:
            complain(page, "there is no such page")
            continue
        complaints, updated = check_page(written, check, lambda *what: analyse(tidy, flags, *what))
        for what in complaints:
            complain(page, what)
        if update and updated != written:
            with open(os.path.join(folder, page), "w", encoding="utf-8") as out:
                out.write(updated)
    for page in sorted(strangers):
        complain(page, "a page of no check")
    if failures:
        sys.exit(f"check_pages: {failures} complaints")
    print(f"check_pages: {len(checks)} pages are true")


main()
