# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings, as the judge tells them to the process that it judges.

Under `streamsan run` the judge reads the trace while the program runs, and answers a question in a file beside it. Where
the recorder is preloaded alone nobody reads yet, and `streamsan check` judges the trace as far as it goes.
"""
import json
import os
import subprocess
import time

from . import _recorder

LEVELS = ("error", "latent", "possible", "note")


class Finding:
    """One entry of a report. `json` has all of it, in the form of docs/reports.md."""

    def __init__(self, entry):
        self.json = entry

    @property
    def kind(self):
        """"race", "premature-free", "host-race", "hidden-sync" and so on."""
        return self.json["kind"]

    @property
    def hazard(self):
        """"read-after-write", "release-while-in-use" and so on."""
        return self.json["hazard"]

    @property
    def severity(self):
        """"error", "latent", "possible" or "note"."""
        return self.json["severity"]

    @property
    def message(self):
        return self.json["message"]

    @property
    def fix(self):
        return self.json["fix"]

    @property
    def tests(self):
        """Of a test runner, the tests in which its operations were submitted."""
        return self.json["tests"]

    @property
    def fingerprint(self):
        return self.json["fingerprint"]

    @property
    def places(self):
        """(what, file, line) of each operation, the later one first: the innermost line that is the program's own."""
        halves = self.json["accesses"] or self.json["related"][:1]
        return [(half["what"], *_own_line(half["stack"])) for half in halves]

    def __str__(self):
        """As the report has it, in short."""
        lines = [f"{self.severity.upper()}: {self.hazard}: {self.message}"]
        for half in self.json["accesses"] or self.json["related"]:
            stream = half["stream"]["name"]
            lines.append(f"  {half['what']}" + (f" on {stream}" if stream and stream != "the host" else ""))
            lines += _frames(half["stack"])
        buffer = self.json.get("buffer")
        if buffer:
            named = f"\"{buffer['name']}\" " if buffer["name"] else ""
            lines.append(f"  Buffer {named}{buffer['address']} [{buffer['bytes']} bytes] allocated by {buffer['allocator']}")
            lines += _frames(buffer["stack"])
        lines.append(f"  Why: {self.json['explanation']}")
        if self.json["accesses"]:
            for related in self.json["related"]:
                lines.append(f"    {related['what']}")
                lines += _frames(related["stack"])
        return "\n".join([*lines, f"  Fix: {self.fix}"])

    def __repr__(self):
        return f"<streamsan.Finding {self.severity} {self.hazard} {self.places}>"


def _own_line(stack):
    own = [frame for frame in stack if not frame["library"] and frame["file"]] or [f for f in stack if f["file"]]
    return (own[0]["file"], own[0]["line"]) if own else ("", 0)


def _frames(stack, most=12):
    """Python's lines where there are any, else the program's own."""
    python = [frame for frame in stack if frame["language"] == "python" and not frame["library"]]
    own = python or [frame for frame in stack if not frame["library"]]
    lines, forward = [], False
    for frame in own[:most]:
        if frame["forward"] and not forward:
            lines.append("      where the forward operation was called:")
        forward = frame["forward"]
        lines.append(f"      {frame['function'] or '?'} {frame['file'] or frame['module']}:{frame['line']}")
    return lines


def _answer(path, timeout):
    end = time.monotonic() + timeout
    pause = 0.0005
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(f"streamsan: the judge did not answer within {timeout} seconds")
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    os.unlink(path)
    return json.loads(text)


def _judged(trace, timeout):
    """Of a trace that nobody reads."""
    from . import executable
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run([executable(), "check", "--json=-", "--log_path=/dev/null", "--require_activity=0", trace],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, timeout=timeout)
    if not done.stdout:
        raise OSError(f"streamsan check: {done.stderr.decode(errors='replace').strip()}")
    return json.loads(done.stdout)


def ask_for_findings(errors_only, timeout):
    state, path = _recorder.ask()
    if state == 0:
        return []
    entries = (_answer(path, timeout) if state == 1 else _judged(path, timeout))["findings"]
    wanted = LEVELS[:1] if errors_only else LEVELS
    return [Finding(entry) for entry in entries if not entry["suppressed"] and entry["severity"] in wanted]
