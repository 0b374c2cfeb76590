# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results.json: what was run, on what, and how it went. Rewritten after every test: a run cut short is kept."""

import json
import os
import threading
from pathlib import Path

PASS, FAIL, SKIP = "pass", "fail", "skip"
ROOT = str(Path(__file__).resolve().parents[3]) + os.sep


class Results:
    def __init__(self, path, log, commit, machine):
        self.path = Path(path)
        self.log = Path(log)
        self.document = {"commit": commit, **machine, "tests": [], "benchmarks": []}
        self.lock = threading.Lock()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        self.write()

    def write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.document, indent=1) + "\n")
        os.replace(partial, self.path)

    def test(self, name, verdict, reason="", text="", **more):
        """more: members of the entry besides, where they are not empty. Where the sources lie is nobody's business: paths
        in the reason are relative to the repository."""
        reason = reason.replace(ROOT, "")
        entry = {"name": name, "verdict": verdict, **({"reason": reason} if reason else {}),
                 **{key: value for key, value in more.items() if value}}
        with self.lock:
            self.document["tests"].append(entry)
            self.document["tests"].sort(key=lambda test: test["name"])
            self.write()
        if verdict == FAIL:
            self.note(f"==== {name}: {reason}\n{text}")
        print(f"{verdict.upper():4} {name}" + (f": {reason}" if reason else ""), flush=True)

    def benchmark(self, name, **numbers):
        """One of ratio= and value=; peers={NAME: ratio}; detail= what the number is made of."""
        entry = {"name": name, **numbers, "peers": numbers.get("peers", {})}
        with self.lock:
            self.document["benchmarks"].append(entry)
            self.write()
        print("BENCHMARK " + json.dumps(entry), flush=True)

    def note(self, text):
        """Into the log file; the tail of a very long text is what matters."""
        with self.lock, self.log.open("a") as log:
            log.write((text if len(text) <= 20000 else "[cut] ... " + text[-20000:]).rstrip() + "\n\n")

    def failures(self):
        return [test for test in self.document["tests"] if test["verdict"] == FAIL]
