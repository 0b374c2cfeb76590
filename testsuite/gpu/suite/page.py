# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does the page of a report hold what the report says, and nothing from elsewhere? Pure functions; see
tests/test_page.py. How the page looks and behaves is tested in a browser (testsuite/html)."""

import json
import re

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
FETCHED = re.compile(r'<(?:script|img|link|iframe)[^>]*\b(?:src|href)=["\']?(?:https?:)?//', re.IGNORECASE)


def messages(value):
    """Every "message" in the document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "message" and isinstance(inner, str):
                yield inner
            yield from messages(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from messages(inner)


def complaints(text, report):
    data = DATA.search(text)
    if not data:
        return ["no page, or one without data"]
    if report is None:
        return ["no report to compare the page with"]
    shown = sorted(messages(json.loads(data[1])))
    reported = sorted(finding["message"] for finding in report["findings"] + report.get("waits", []))
    found = [] if set(shown) == set(reported) else [f"the page shows {shown}, the report {reported}"]
    if FETCHED.search(text):
        found.append(f"the page fetches {FETCHED.search(text)[0]}")
    return found
