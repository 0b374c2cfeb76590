# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import time
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite.case import DEMANDED_AND_MISSED, Case, Target
from suite import execute
from suite.execute import Runner, find_product, read_report
from suite.expect import Expect, Finding


class Execute(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.runner = Runner(("/bin/streamsan", "/lib/preload.so"), self.folder, [], null="/null")

    def call(self, script, timeout=20):
        return self.runner.call(["sh", "-c", script], timeout, self.runner.environment(), self.folder)

    def test_exit_code_and_both_outputs(self):
        self.assertEqual(self.call("echo a; echo b >&2; exit 3"), (3, "a\nb\n", False))

    def test_a_signal_is_shown_as_a_shell_shows_it(self):
        self.assertEqual(self.call("kill -9 $$")[0], 137)
        self.assertEqual(self.call("kill -ABRT $$")[0], 134)

    def test_a_hang_costs_its_limit_with_its_children(self):
        start = time.monotonic()
        _, text, late = self.call("echo begun; sleep 60 & sleep 60", timeout=0.5)
        self.assertEqual((text, late), ("begun\n", True))
        self.assertLess(time.monotonic() - start, 30)

    def test_environment(self):
        env = self.runner.environment("stacks=0", LD_PRELOAD="x")
        names = ("STREAMSAN_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH")
        self.assertEqual([env[name] for name in names], [execute.EVERYWHERE + ":stacks=0", "x", "/null"])
        self.assertEqual(self.runner.environment()["STREAMSAN_OPTIONS"], execute.EVERYWHERE)

    def test_placeholders(self):
        program, kernels = Target("a.cu"), Target("b.cu", ("-ptx",))
        self.runner.built = {program: "/a", kernels: "/b.ptx"}
        case = Case("c", program, ("{}", "{ptx}", "{streamsan}", "7"), others=(("ptx", kernels),))
        self.assertEqual(self.runner.words(case), ["/a", "/b.ptx", "/bin/streamsan", "7"])

    def launcher(self, script):
        """A stand-in for the launcher: a shell script."""
        path = self.folder / "launcher"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        self.runner.streamsan = path

    def test_options_reach_the_launcher_and_the_preload(self):
        self.launcher('echo "$@"')
        case = Case("c", command=("program",), options=("footprints=measured", "a=b"))
        self.assertRegex(self.runner.run(case).text, "^run --footprints=measured --a=b --json .* -- program\n")
        case = Case("c", command=("sh", "-c", 'echo "$STREAMSAN_OPTIONS"'), mode="preload")
        self.assertRegex(self.runner.preloaded(case, self.folder)[1], r"(?m)^footprint_cache=off:mention_waits=0:trace_path=.*%p\.trace:footprints=inferred:kernel_code=false(:sanitizer_library=.*)?$")

    def test_stdout_is_known_apart(self):
        outcome = self.runner.call_apart(["sh", "-c", "echo a; echo b >&2"], 20, self.runner.environment(), self.folder)
        self.assertEqual((outcome.stdout, outcome.text), ("a\n", "a\nb\n"))

    def test_a_silent_program_is_also_run_by_itself_once(self):
        self.launcher('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
        program = Target("a.cu")
        self.runner.built = {program: "sh"}
        command = ("{}", "-c", f"echo x >> {self.folder}/runs; echo said; exit 3")
        first, second = (self.runner.run(Case(name, program, command, Expect(exit=3))) for name in ("c", "measured-c"))
        self.assertEqual([(o.exit, o.stdout, o.plain.exit, o.plain.stdout) for o in (first, second)],
                         [(3, "said\n", 3, "said\n")] * 2)
        self.assertEqual((self.folder / "runs").read_text(), "x\n" * 3)

    def test_a_racy_program_is_not_run_by_itself(self):
        self.launcher("true")
        program = Target("a.cu")
        self.runner.built = {program: "false"}
        for case in (Case("racy", program, expect=Expect(exit=66, findings=(Finding(),))),
                     Case("script", command=("false",)),
                     Case("demanded", program, expect=Expect(exit=DEMANDED_AND_MISSED))):
            self.assertIsNone(self.runner.run(case).plain, case.name)

    def test_a_profiler_must_have_seen_launches(self):
        case = Case("c", command=("program",), mode="cupti")
        self.launcher("true")
        self.assertEqual(len(self.runner.run(case).complaints), 1)
        self.launcher('python3 -c "import struct,sys; sys.stdout.buffer.write('
                      "struct.pack('56sQ', b'cuLaunchKernel', 3))\" > $STREAMSAN_CUPTI_COUNTS.17")
        self.assertEqual(self.runner.run(case).complaints, [])

    def test_truth_is_compared_with_the_trace_that_was_kept(self):
        self.launcher("""
            if [ $1 = run ]; then
              for word; do case $word in --trace_dir=*) mkdir -p ${word#*=}/x; touch ${word#*=}/x/1.trace;; esac; done
              echo '{"truth": {"kernel": "k", "launch": 0, "mode": "read", "pieces": [[16, 8, 1, 0, 1, 0]]}}'
            else
              echo '{"kernel": "k", "known": "measured", "complete": true, "pieces": [{"mode": "read", "address": 16,' \
                   '"width": WIDTH}]}' > ${2#*=}
            fi""")
        case = Case("c", command=("program",), mode="truth")
        script = self.runner.streamsan.read_text()
        self.runner.streamsan.write_text(script.replace("WIDTH", "8"))
        outcome = self.runner.run(case)
        self.assertEqual((outcome.complaints, outcome.detail), ([], ["launch 0 of 'k': read 8 bytes"]))
        self.runner.streamsan.write_text(script.replace("WIDTH", "9"))
        self.assertIn("too many: 1 bytes", self.runner.run(case).complaints[0])

    def test_a_product_is_found_in_either_layout(self):
        self.assertEqual(find_product(self.folder), (None, None))
        for place in ("cli/streamsan", "lib/streamsan/libstreamsan.so"):
            (self.folder / place).parent.mkdir(parents=True)
            (self.folder / place).touch()
        self.assertEqual(find_product(self.folder),
                         (self.folder / "cli/streamsan", self.folder / "lib/streamsan/libstreamsan.so"))

    def test_a_product_is_found_in_a_virtual_environment(self):
        library = "lib/python3.12/site-packages/streamsan/lib/libstreamsan.so"
        for place in ("bin/streamsan", library):
            (self.folder / place).parent.mkdir(parents=True)
            (self.folder / place).touch()
        self.assertEqual(find_product(self.folder), (self.folder / "bin/streamsan", self.folder / library))

    def test_a_report_cut_short_is_none(self):
        path = self.folder / "report.json"
        self.assertIsNone(read_report(path))
        path.write_text('{"findings": [')
        self.assertIsNone(read_report(path))
        path.write_text('{"findings": []}')
        self.assertEqual(read_report(path), {"findings": []})
