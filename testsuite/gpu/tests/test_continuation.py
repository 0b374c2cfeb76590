# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite import continuation

SUBJECT = {"commit": "abc", "device": "D", "driver": "580", "toolkit": "13.0"}
DOCUMENT = {**SUBJECT, "runs": 1, "tests": [{"name": "a", "verdict": "pass"}],
            "benchmarks": [{"name": "x", "ratio": 1}]}


class Continuation(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "results.json"

    def refused(self, text, pattern, subject=None):
        self.path.write_text(text)
        with self.assertRaisesRegex(continuation.Refused, pattern):
            continuation.read(self.path, subject or SUBJECT)

    def test_the_same_thing_is_continued(self):
        self.path.write_text(json.dumps(DOCUMENT))
        self.assertEqual(continuation.read(self.path, SUBJECT), DOCUMENT)

    def test_another_thing_is_not(self):
        for member in SUBJECT:
            self.refused(json.dumps({**DOCUMENT, member: "other"}), f"{member} 'other', here '{SUBJECT[member]}'")

    def test_of_an_unknown_commit_nothing_is_the_same(self):
        unknown = {"commit": "unknown"}
        self.refused(json.dumps({**DOCUMENT, **unknown}), "--commit", {**SUBJECT, **unknown})

    def test_what_is_no_results_file_is_refused(self):
        for text in ("", "[]", "{}", '{"tests": 1}', json.dumps({**DOCUMENT, "tests": [{}]}),
                     json.dumps({**DOCUMENT, "tests": [1]})):
            self.refused(text, "is no results.json")
        self.refused(json.dumps({**DOCUMENT, "tests": DOCUMENT["tests"] * 2}), "twice")

    def test_a_missing_file_is_refused(self):
        with self.assertRaisesRegex(continuation.Refused, "is no results.json"):
            continuation.read(self.path, SUBJECT)
