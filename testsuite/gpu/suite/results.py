# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results.json: what was run, on what, and how it went. Rewritten after every test: a run cut short is kept.

A row has one name and stands there once. A run that continues another begins with its rows and replaces those that it
runs again; a failure that is replaced stays visible in the new row, as a test that passes the second time is not one
that passes.
"""

import json
import os
import threading
from pathlib import Path

PASS, FAIL, SKIP = "pass", "fail", "skip"
TIME_LIMIT = "time limit"
BENCHMARK = "benchmark-"  # prefix of the test that says that a benchmark has no number
ROOT = str(Path(__file__).resolve().parents[3]) + os.sep


class Results:
    def __init__(self, path, log, subject, earlier=None, earlier_log=""):
        """subject: commit, device, driver and toolkit; earlier: the document that is continued (continuation.read()),
        and the text of its log."""
        self.path = Path(path)
        self.log = Path(log)
        earlier = earlier or {"runs": 0, "tests": [], "benchmarks": []}
        self.document = {**subject, "runs": earlier.get("runs", 1) + 1, "tests": list(earlier["tests"]),
                         "benchmarks": list(earlier["benchmarks"])}
        self.lock = threading.Lock()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text(earlier_log)
        self.write()

    def write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.document, indent=1) + "\n")
        os.replace(partial, self.path)

    def row(self, name):
        """The row of the test, or None."""
        return next((test for test in self.document["tests"] if test["name"] == name), None)

    def number(self, name):
        """The entry of the benchmark, or None."""
        return next((entry for entry in self.document["benchmarks"] if entry["name"] == name), None)

    def has_passed(self, name):
        row = self.row(name)
        return row is not None and row["verdict"] == PASS

    def is_open(self, name, again=False):
        """Is the test still to be run? again: also if it failed."""
        row = self.row(name)
        return row is None or row["verdict"] == SKIP or (again and row["verdict"] == FAIL)

    def is_number_open(self, name, again=False):
        return self.number(name) is None and self.is_open(BENCHMARK + name, again)

    def _take(self, name):
        """Removes the row of the test. What the one that replaces it must say of it: its failures."""
        old = self.row(name)
        if old is None:
            return {}
        self.document["tests"].remove(old)
        failures = list(old.get("earlier", []))
        if old["verdict"] == FAIL:
            failures.append({key: value for key, value in old.items() if key in ("verdict", "reason")})
        return {"earlier": failures} if failures else {}

    def test(self, name, verdict, reason="", text="", **more):
        """more: members of the entry besides, where they are not empty. Where the sources lie is nobody's business:
        paths in the reason are relative to the repository. A judgement is not replaced by a skip."""
        reason = reason.replace(ROOT, "")
        entry = {"name": name, "verdict": verdict, **({"reason": reason} if reason else {}),
                 **{key: value for key, value in more.items() if value}}
        with self.lock:
            if verdict == SKIP and not self.is_open(name):
                print(f"KEPT {name}: {reason}", flush=True)
                return
            entry.update(self._take(name))
            self.document["tests"].append(entry)
            self.document["tests"].sort(key=lambda test: test["name"])
            self.write()
        if verdict == FAIL:
            self.note(f"==== {name}: {reason}\n{text}")
        print(f"{verdict.upper():4} {name}" + (f": {reason}" if reason else ""), flush=True)

    def recorded(self, name):
        """The trace of this test was kept."""
        with self.lock:
            self.row(name)["recorded"] = True
            self.write()

    def benchmark(self, name, **numbers):
        """One of ratio= and value=; interval= and pairs=; detail= what the number is made of."""
        with self.lock:
            entry = {"name": name, **numbers, "peers": numbers.get("peers", {}), **self._take(BENCHMARK + name)}
            old = self.number(name)
            if old is not None:
                self.document["benchmarks"].remove(old)
            self.document["benchmarks"].append(entry)
            self.write()
        print("BENCHMARK " + json.dumps(entry), flush=True)

    def peer(self, name, peer, ratio):
        with self.lock:
            self.number(name)["peers"][peer] = ratio
            self.write()
        print(f"PEER {name}: {peer} {ratio}", flush=True)

    def note(self, text):
        """Into the log file; the tail of a very long text is what matters."""
        with self.lock, self.log.open("a") as log:
            log.write((text if len(text) <= 20000 else "[cut] ... " + text[-20000:]).rstrip() + "\n\n")

    def failures(self):
        return [test for test in self.document["tests"] if test["verdict"] == FAIL]

    def out_of_time(self):
        return [test for test in self.document["tests"]
                if test["verdict"] == SKIP and test.get("reason", "").startswith(TIME_LIMIT)]
