# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import io
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite import record
from suite.results import BENCHMARK, FAIL, PASS, ROOT, Results, SKIP, TIME_LIMIT

SUBJECT = {"commit": "abc", "device": "D", "driver": "580", "toolkit": "13.0"}


class Document(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "out" / "results.json"
        self.log = Path(folder.name) / "out" / "results.log"
        self.results = Results(self.path, self.log, SUBJECT)
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def read(self):
        return json.loads(self.path.read_text())

    def test_it_is_there_before_the_first_test(self):
        self.assertEqual(self.read(), {**SUBJECT, "runs": 1, "tests": [], "benchmarks": []})

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

    def test_a_run_that_goes_on_keeps_rows_and_log(self):
        self.results.test("a", FAIL, "exit code 1", "the output")
        self.results.test("b", SKIP, TIME_LIMIT)
        self.results.benchmark("x", ratio=1.0)
        on = Results(self.path, self.log, SUBJECT, self.read(), self.log.read_text())
        self.assertEqual(self.read(), {**self.results.document, "runs": 2})
        self.assertEqual([on.is_open(name) for name in "abc"], [False, True, True])
        self.assertEqual([on.is_number_open(name) for name in "xy"], [False, True])
        self.assertEqual([row["name"] for row in on.out_of_time()], ["b"])
        on.test("b", PASS)
        on.test("c", FAIL, "exit code 2", "more output")
        self.assertEqual([row["verdict"] for row in self.read()["tests"]], [FAIL, PASS, FAIL])
        self.assertRegex(self.log.read_text(), "(?s)the output.*more output")

    def test_a_failure_that_is_run_again_stays_visible(self):
        self.results.test("a", FAIL, "exit code 1", detail=["1 byte"])
        self.assertTrue(self.results.is_open("a", again=True))
        self.results.test("a", FAIL, "exit code 2")
        self.results.test("a", PASS)
        self.assertEqual(self.read()["tests"], [{"name": "a", "verdict": "pass", "earlier": [
            {"verdict": "fail", "reason": "exit code 1"}, {"verdict": "fail", "reason": "exit code 2"}]}])
        self.assertFalse(self.results.is_open("a", again=True))

    def test_what_was_judged_is_not_replaced_by_a_skip(self):
        for verdict in (PASS, FAIL):
            self.results.test(verdict, verdict, "r")
            self.results.test(verdict, SKIP, TIME_LIMIT)
            self.assertEqual(self.results.row(verdict), {"name": verdict, "verdict": verdict, "reason": "r"})

    def test_a_number_replaces_the_test_that_says_there_is_none(self):
        self.results.test(BENCHMARK + "x", SKIP, TIME_LIMIT)
        self.results.benchmark("x", ratio=1.0)
        self.results.test(BENCHMARK + "y", FAIL, "the benchmark did not run")
        self.assertEqual([self.results.is_number_open("y", again) for again in (False, True)], [False, True])
        self.results.benchmark("y", value=2.0)
        self.results.peer("y", "p", 3.0)
        self.assertEqual((self.read()["tests"], self.read()["benchmarks"]), ([], [
            {"name": "x", "ratio": 1.0, "peers": {}},
            {"name": "y", "value": 2.0, "peers": {"p": 3.0},
             "earlier": [{"verdict": "fail", "reason": "the benchmark did not run"}]}]))

    def test_a_trace_that_was_kept_is_known(self):
        self.results.test("a", PASS)
        self.results.recorded("a")
        self.assertTrue(self.read()["tests"][0]["recorded"])


class Archive(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.place = self.folder / "traces.tar.gz"

    def kept(self, name, goes_on):
        """Names that an archive holds to which one was added."""
        traces = record.Traces(self.place, self.folder / ("work-" + name), goes_on)
        traces.folder.mkdir(parents=True, exist_ok=True)
        for suffix in (".trace.xz", ".test"):
            (traces.folder / (name + suffix)).write_text(name)
        traces.close()
        after = record.Traces(self.place, self.folder / ("after-" + name), True)
        return [name for name in "abc" if after.has(name)]

    def test_an_archive_is_added_to_only_by_a_run_that_goes_on(self):
        self.assertEqual(self.kept("a", False), ["a"])
        self.assertEqual(self.kept("b", True), ["a", "b"])
        self.assertEqual(self.kept("c", False), ["c"])

    def test_a_folder_is_what_it_is(self):
        traces = record.Traces(self.folder / "traces", self.folder, False)
        self.assertEqual((traces.folder, traces.has("a")), (self.folder / "traces", False))
        traces.close()


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
