# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import io
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite import record
from suite.results import FAIL, PASS, ROOT, Results, SKIP

MACHINE = {"device": "D", "driver": "580", "toolkit": "13.0"}


class Document(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "out" / "results.json"
        self.log = Path(folder.name) / "out" / "results.log"
        self.results = Results(self.path, self.log, "abc", MACHINE)
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def read(self):
        return json.loads(self.path.read_text())

    def test_it_is_there_before_the_first_test(self):
        self.assertEqual(self.read(), {"commit": "abc", **MACHINE, "tests": [], "benchmarks": []})

    def test_verdicts_are_kept_one_by_one_and_sorted(self):
        self.results.test("b", PASS)
        self.results.test("a", SKIP, "no GPU")
        self.assertEqual(self.read()["tests"], [{"name": "a", "verdict": "skip", "reason": "no GPU"},
                                                {"name": "b", "verdict": "pass"}])

    def test_further_members_are_there_if_not_empty(self):
        self.results.test("a", PASS, detail=["read 8 bytes"], possible=[])
        self.assertEqual(self.read()["tests"], [{"name": "a", "verdict": "pass", "detail": ["read 8 bytes"]}])

    def test_paths_in_a_reason_are_relative_to_the_repository(self):
        self.results.test("a", FAIL, f"not silent: {ROOT}testsuite/x.cu:31")
        self.assertEqual(self.read()["tests"][0]["reason"], "not silent: testsuite/x.cu:31")

    def test_output_of_a_failure_goes_to_the_log(self):
        self.results.test("a", FAIL, "exit code 1", "the output")
        self.assertIn("==== a: exit code 1\nthe output", self.log.read_text())
        self.assertEqual(len(self.results.failures()), 1)

    def test_benchmarks(self):
        self.results.benchmark("pytorch-step", ratio=1.02, peers={"x": 12.0})
        self.results.benchmark("driver-call-ns", value=80.0)
        self.assertEqual(self.read()["benchmarks"], [{"name": "pytorch-step", "ratio": 1.02, "peers": {"x": 12.0}},
                                                     {"name": "driver-call-ns", "value": 80.0, "peers": {}}])


class Recorded(unittest.TestCase):
    FINDING = {"severity": "error", "kind": "race", "hazard": "read-after-write", "cause": "no-edge", "rule": "",
               "count": 2, "message": "0x7f",
               "accesses": [{"what": "kernel f<[[0]]>()", "stream": {"name": "stream 2"}}]}

    def test_it_checks_what_holds_on_another_machine(self):
        text = record.test_file("sync-copy", {"device": "D", "driver": "580"}, 66, {"findings": [self.FINDING]})
        self.assertIn("# RUN: %expect 66 %streamsan check --symbolize=0", text)
        self.assertEqual([line for line in text.splitlines() if "CHECK:" in line], [
            '# CHECK: findings.size = 1{{$}}', '# CHECK: findings[0].accesses[0].stream.name = "stream 2"{{$}}',
            '# CHECK: findings[0].cause = "no-edge"{{$}}', '# CHECK: findings[0].count = 2{{$}}',
            '# CHECK: findings[0].hazard = "read-after-write"{{$}}', '# CHECK: findings[0].kind = "race"{{$}}',
            '# CHECK: findings[0].rule = ""{{$}}', '# CHECK: findings[0].severity = "error"{{$}}'])
