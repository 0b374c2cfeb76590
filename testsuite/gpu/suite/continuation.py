# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an earlier run has found out, for a run that goes on where it stopped. See tests/test_continuation.py.

A machine may be lent for ten minutes at a time, and everything takes longer. What is one results.json must be about one
thing, though: the same commit on the same device with the same driver and toolkit. Anything else is refused.

What was judged is kept as it stands. What was skipped is tried again, for whatever reason it was skipped: the reason is
cheap to find again, and may be gone.
"""

import json
from pathlib import Path

SUBJECT = ("commit", "device", "driver", "toolkit")


class Refused(Exception):
    """Why the file cannot be continued."""


def read(path, subject):
    """The document of the file, whose subject must be this one: {"commit", "device", "driver", "toolkit"}."""
    try:
        document = json.loads(Path(path).read_text())
        rows = [*document["tests"], *document["benchmarks"]]
        names = [row["name"] for row in rows]
        known = {member: document[member] for member in SUBJECT}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path} is no results.json: {error or type(error).__name__}") from error
    if len(set(names)) != len(names):
        raise Refused(f"{path} names something twice")
    others = [f"{member} {known[member]!r}, here {subject[member]!r}" for member in SUBJECT
              if known[member] != subject[member]]
    if others:
        raise Refused(f"{path} is about something else: " + "; ".join(others))
    if subject["commit"] == "unknown":
        raise Refused(f"nobody knows which commit {path} is about: use --commit in each run")
    return document


def log_of(path):
    """Where the log of an earlier run lies if nothing else was said."""
    return Path(path).with_suffix(".log")
