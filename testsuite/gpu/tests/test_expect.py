# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite.expect import Expect, Finding, NO_ERROR, Outcome, SILENT, complaints, possibles, site_line

RACE = {"severity": "error", "kind": "race", "hazard": "read-after-write", "cause": "no-edge", "message": "m"}
POSSIBLE = {**RACE, "severity": "possible"}
LATENT = {"severity": "latent", "kind": "premature-free", "rule": "R-ALC-02"}


def outcome(*findings, code=0, text=""):
    return Outcome(code, text, {"findings": list(findings)})


class Silent(unittest.TestCase):
    def test_nothing_is_right(self):
        self.assertEqual(complaints(SILENT, outcome()), [])

    def test_any_finding_is_wrong(self):
        for finding in (RACE, POSSIBLE, LATENT):
            self.assertEqual(len(complaints(SILENT, outcome(finding))), 1)

    def test_a_suppressed_finding_does_not_count(self):
        self.assertEqual(complaints(SILENT, outcome({**RACE, "suppressed": True})), [])

    def test_possible_is_no_error(self):
        self.assertEqual(complaints(NO_ERROR, outcome(POSSIBLE)), [])
        self.assertEqual(len(complaints(NO_ERROR, outcome(LATENT))), 1)

    def test_anything_printed_is_wrong(self):
        self.assertEqual(complaints(SILENT, outcome(text="a warning\nmore")), ["not silent: a warning"])
        self.assertEqual(complaints(Expect(), outcome(text="a warning")), [])

    def test_exit_code(self):
        self.assertEqual(complaints(SILENT, outcome(code=66)), ["exit code 66, expected 0"])

    def test_no_report(self):
        self.assertEqual(complaints(SILENT, Outcome()), ["no JSON report"])

    def test_a_time_out_says_only_that(self):
        self.assertEqual(complaints(SILENT, Outcome(137, timed_out=True)), ["timed out"])


class ByItself(unittest.TestCase):
    """What the program does under StreamSan beside what it does without."""

    def judged(self, expect=SILENT, code=0, out="a\nb\n", err="", plain_code=0, plain_err="", **more):
        plain_out = "a\nb\n"
        ours = outcome(code=code, text=out + err)
        ours.stdout = out
        ours.plain = Outcome(plain_code, plain_out + plain_err, stdout=plain_out, **more)
        return complaints(expect, ours)

    def test_the_same_is_right(self):
        self.assertEqual(self.judged(), [])
        self.assertEqual(self.judged(err="e\n", plain_err="e\n"), [])
        self.assertEqual(self.judged(Expect(exit=3), code=3, plain_code=3), [])

    def test_another_exit_code_is_wrong(self):
        self.assertEqual(self.judged(Expect(exit=3), code=3), ["exit code 3, without StreamSan 0"])

    def test_another_line_is_wrong(self):
        for out, first in (("a\nc\n", "'c', without StreamSan 'b'"), ("a\n", "'(nothing)', without StreamSan 'b'"),
                           ("a\nb\nc\n", "'c', without StreamSan '(nothing)'")):
            self.assertEqual(self.judged(Expect(), out=out), ["stdout differs: " + first])

    def test_what_the_program_prints_itself_is_not_noise(self):
        self.assertEqual(self.judged(err="a warning\n"), ["not silent: a warning"])
        self.assertEqual(self.judged(Expect(), err="a warning\n"), [])
        self.assertEqual(self.judged(err="", plain_err="e\n"), ["not silent: its own output is not complete"])

    def test_a_plain_run_that_hangs_is_said(self):
        self.assertIn("timed out without StreamSan", self.judged(timed_out=True))


class Racy(unittest.TestCase):
    EXPECT = Expect(exit=66, findings=(Finding(hazard="read-after-write"),))

    def test_the_one_race(self):
        self.assertEqual(complaints(self.EXPECT, outcome(RACE, code=66)), [])

    def test_missed(self):
        self.assertEqual(complaints(self.EXPECT, outcome(code=66)),
                         ["expected 1 x error race read-after-write, found 0"])

    def test_two_are_wrong_unless_a_lower_bound(self):
        self.assertEqual(len(complaints(self.EXPECT, outcome(RACE, RACE, code=66))), 1)
        bound = Expect(exit=66, findings=(Finding(at_least=True),))
        self.assertEqual(complaints(bound, outcome(RACE, RACE, code=66)), [])

    def test_another_hazard_is_both_missed_and_unexpected(self):
        self.assertEqual(len(complaints(self.EXPECT, outcome({**RACE, "hazard": "write-after-read"}, code=66))), 2)

    def test_the_rule_leaned_on(self):
        expect = Expect(findings=(Finding("latent", "premature-free", rule="R-ALC-02"),))
        self.assertEqual(complaints(expect, outcome(LATENT)), [])
        self.assertEqual(len(complaints(expect, outcome({**LATENT, "rule": "R-ALC-05"}))), 2)


class Overlap(unittest.TestCase):
    EXPECT = Expect(findings=(Finding(at_least=True),), allowed=("possible",), overlap=True)
    PRINTED = '{"overlap": [4096, 16]}\n'
    TEXT = PRINTED + "ERROR: race on device memory 0x1000 [16 bytes overlap]\n"

    def found(self, begin, end, text=TEXT, **more):
        finding = {**RACE, "overlap_begin": hex(begin), "overlap_end": hex(end), **more}
        return complaints(self.EXPECT, outcome(finding, text=text))

    def test_exactly_the_printed_bytes(self):
        self.assertEqual(self.found(4096, 4112), [])
        self.assertEqual(len(self.found(4096, 4111)), 1)
        self.assertEqual(len(self.found(4092, 4112)), 1)

    def test_in_the_text_too(self):
        self.assertEqual(len(self.found(4096, 4112, self.TEXT.replace("[16", "[up to 16"))), 1)

    def test_of_errors_only(self):
        error = {**RACE, "overlap_begin": "0x1000", "overlap_end": "0x1010"}
        other = {**POSSIBLE, "overlap_begin": "0x0", "overlap_end": "0x2000"}
        self.assertEqual(complaints(self.EXPECT, outcome(error, other, text=self.TEXT)), [])

    def test_a_program_that_prints_none(self):
        self.assertEqual(self.found(4096, 4112, ""), ["the program printed no overlap"])


class Possibles(unittest.TestCase):
    def test_what_is_named(self):
        report = {"findings": [{**POSSIBLE, "count": 3}, RACE, {**POSSIBLE, "suppressed": True}]}
        self.assertEqual(possibles(report), ["3 x possible race read-after-write no-edge: m"])
        self.assertEqual(possibles(None), [])


class Text(unittest.TestCase):
    def setUp(self):
        self.folder = TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = Path(self.folder.name) / "a.cu"
        self.source.write_text("first();\nsecond();  // site: copy\nthird();  # site: copying\n")

    def test_site_line(self):
        self.assertEqual(site_line(self.source, "copy"), 2)
        self.assertEqual(site_line(self.source, "copying"), 3)
        self.assertRaises(ValueError, site_line, self.source, "kernel")

    def test_the_line_must_be_named(self):
        expect = Expect(sites=("copy",))
        self.assertEqual(complaints(expect, outcome(text="main a.cu:2:3"), self.source), [])
        self.assertEqual(len(complaints(expect, outcome(text="main a.cu:21"), self.source)), 1)

    def test_lines(self):
        expect = Expect(lines=(1, 1))
        self.assertEqual(complaints(expect, outcome(text="one\n\n")), [])
        self.assertEqual(len(complaints(expect, outcome())), 1)
        self.assertEqual(len(complaints(expect, outcome(text="one\ntwo"))), 1)
        twice = "streamsan[7]: not measured\n==7== WARNING: streamsan: not measured\n"
        self.assertEqual(complaints(expect, outcome(text=twice)), [])

    def test_patterns(self):
        expect = Expect(text=("^SUMMARY",))
        self.assertEqual(complaints(expect, outcome(text="x\nSUMMARY: y")), [])
        self.assertEqual(len(complaints(expect, outcome(text="no SUMMARY"))), 1)


def wait(verdict, message, calls=1, idle=0):
    return {"severity": "note", "kind": "unneeded-sync", "message": message,
            "sync": {"verdict": verdict, "calls": calls, "idle_calls": idle}}


class Syncs(unittest.TestCase):
    def test_the_verdict_of_a_place(self):
        expect = Expect(syncs=(("unneeded", "a.cu:1"),))
        self.assertEqual(complaints(expect, outcome(wait("unneeded", "sync (a.cu:1) is not needed"))), [])
        for verdict, place in (("needed", "a.cu:1"), ("unneeded", "a.cu:12"), ("unneeded", "b.cu:1")):
            self.assertEqual(len(complaints(expect, outcome(wait(verdict, f"sync ({place})")))), 1)

    def test_nothing_is_recommended(self):
        expect = Expect(advised=False)
        for verdict in ("needed", "timing", "unknown"):
            self.assertEqual(complaints(expect, outcome(wait(verdict, "m"))), [])
        self.assertEqual(complaints(expect, outcome(wait("unneeded", "m", calls=2, idle=2))), [])
        for verdict in ("unneeded", "narrower"):
            self.assertEqual(len(complaints(expect, outcome(wait(verdict, "m", calls=2, idle=1)))), 1)

    def test_what_must_not_be_printed(self):
        self.assertEqual(len(complaints(Expect(absent=("ERR|LAT",)), outcome(text="x\nLATENT"))), 1)
        self.assertEqual(complaints(Expect(absent=("^ERR",)), outcome(text="no ERR")), [])
