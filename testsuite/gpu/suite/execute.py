# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one case in each of the modes of suite/case.py and turns what happened into an Outcome.

A program that overruns its time is killed with its whole process group, so that a hang costs its limit and no more.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

from suite import coverage, machine, page, times, trace, truth
from suite.build import PROGRAMS, BuildError
from suite.expect import Outcome


def find_product(tree):
    """(launcher, preload library) of a build tree, of an installation, or of a virtual environment with the wheel; None
    for what is not there."""
    def first(*places):
        return next((found for place in places for found in sorted(Path(tree).glob(place))), None)

    return (first("bin/streamsan", "cli/streamsan"),
            first("lib/libstreamsan.so", "lib/streamsan/libstreamsan.so", "interposer/libstreamsan.so",
                  "lib/python3*/site-packages/streamsan/**/libstreamsan.so"))


# No test is to depend on what another one has measured, and a line about waits would be in the reports of many.
EVERYWHERE = "footprint_cache=off:mention_waits=0"


class Runner:
    def __init__(self, product, folder, rows, null=None):
        """product: (launcher, preload library); folder: for what is written; rows: of the table of driver functions."""
        self.streamsan, self.preload = product
        self.folder = Path(folder)
        self.rows = rows
        self.null = null
        self.built = {}
        self.cupti_counts = None
        self.plain_runs = {}  # command -> Future of its Outcome
        self.lock = threading.Lock()

    def environment(self, options="", **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("STREAMSAN_") and k != "LD_PRELOAD"}
        env.update(NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
        if self.null:
            env["LD_LIBRARY_PATH"] = str(self.null)
        env["STREAMSAN_OPTIONS"] = ":".join(filter(None, (EVERYWHERE, options)))
        env.update(more)
        return env

    def words(self, case):
        """The command of the case, with its placeholders filled in."""
        values = {"{python}": sys.executable, "{programs}": str(PROGRAMS), "{streamsan}": str(self.streamsan)}
        for name, target in (("", case.target), *case.others):
            built = self.built.get(target)
            if isinstance(built, BuildError):
                raise built
            values["{" + name + "}"] = str(built)

        def fill(word):
            for placeholder, value in values.items():
                word = word.replace(placeholder, value)
            return word

        return [fill(word) for word in case.command]

    def call(self, words, timeout, env, cwd):
        """(exit code as a shell would say it, output, timed out)."""
        outcome = self.call_apart(words, timeout, env, cwd)
        return outcome.exit, outcome.text, outcome.timed_out

    def call_apart(self, words, timeout, env, cwd):
        """An Outcome that knows what was stdout, and of no report."""
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              env=env, cwd=cwd, start_new_session=True, text=True, errors="replace") as process:
            late = False
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                late = True
            code = process.returncode
            return Outcome(137 if late else code if code >= 0 else 128 - code, out + err, None, late, stdout=out)

    def plain(self, case, folder):
        """The Outcome of the program by itself. It is run once, however many cases are about it."""
        words = self.words(case)
        with self.lock:
            first = tuple(words) not in self.plain_runs
            future = self.plain_runs.setdefault(tuple(words), Future())
        if first:
            try:
                future.set_result(self.call_apart(words, case.timeout, self.environment(), folder))
            except Exception as error:  # whoever waits for it must hear of it
                future.set_exception(error)
        return future.result()

    def run(self, case):
        folder = self.folder / case.name
        folder.mkdir(parents=True, exist_ok=True)
        outcome = getattr(self, "mode_" + case.mode)(case, folder)
        if case.same_by_itself():
            outcome.plain = self.plain(case, folder)
        return outcome

    def mode_shell(self, case, folder):
        code, text, late = self.call(self.words(case), case.timeout, self.environment(), folder)
        return Outcome(code, text, {"findings": []}, late)

    def mode_run(self, case, folder, *options, **env):
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        words = [str(self.streamsan), "run", *("--" + option for option in (*case.options, *options)), "--json",
                 str(report), "--", *self.words(case)]
        outcome = self.call_apart(words, case.timeout, self.environment(**env), folder)
        outcome.report = read_report(report)
        return outcome

    def mode_timings(self, case, folder):
        page = folder / "times.json"
        outcome = self.mode_run(case, folder, f"perfetto={page}")
        wrong, outcome.detail = times.compare(times.statements(outcome.text), read_report(page), outcome.report)
        outcome.complaints += wrong
        return outcome

    def mode_page(self, case, folder):
        path = folder / "report.html"
        outcome = self.mode_run(case, folder, f"html={path}")
        text = path.read_text() if path.exists() else ""
        outcome.complaints += page.complaints(text, outcome.report)
        outcome.detail = [f"{len(text)} bytes"]
        return outcome

    def mode_cupti(self, case, folder):
        if isinstance(self.cupti_counts, BuildError):
            raise self.cupti_counts
        base = folder / "profiled"
        outcome = self.mode_run(case, folder, CUDA_INJECTION64_PATH=str(self.cupti_counts),
                                STREAMSAN_CUPTI_COUNTS=str(base))
        counted = [coverage.read_cupti_counts(path.read_bytes()) for path in folder.glob(base.name + ".*")]
        if not any(counts["cuLaunchKernel"] for counts in counted):
            outcome.complaints.append("CUPTI has seen no launch: it was not active")
        return outcome

    def mode_truth(self, case, folder):
        traces = folder / "traces"
        shutil.rmtree(traces, ignore_errors=True)
        outcome = self.mode_run(case, folder, "keep_trace", f"trace_dir={traces}")
        launches = []
        for path in sorted(traces.rglob("*.trace")):
            shown = folder / f"{path.stem}.footprints.json"
            words = [str(self.streamsan), "footprints", f"--json={shown}", str(path)]
            code, text, late = self.call(words, case.timeout, self.environment(), folder)
            if code != 0 or late or not shown.exists():
                outcome.complaints.append(f"no footprints of {path.name}: exit code {code}")
                outcome.text += text
                continue
            launches += truth.read_launches(shown.read_text())
        wrong, outcome.detail = truth.compare(truth.statements(outcome.text), launches)
        outcome.complaints += wrong
        shutil.rmtree(traces, ignore_errors=True)
        return outcome

    def mode_preload(self, case, folder):
        code, output, late, traces = self.preloaded(case, folder)
        if late or code != 0 or not traces:
            return Outcome(code, output, None, late, [f"{len(traces)} traces left by the preload"])
        checked = self.check(traces, folder, case.timeout, *judging(case))
        checked.text = output + checked.text
        return checked

    def preloaded(self, case, folder, **more):
        """Runs the program with the recorder and without the launcher: (exit code, output, timed out, traces)."""
        for old in folder.glob("recorded.*"):
            old.unlink()
        options = [f"trace_path={folder}/recorded.%p.trace", *case.options]
        library = machine.sanitizer_library()
        if library:  # the launcher would have found it
            options.append(f"sanitizer_library={library}")
        options = ":".join(options)
        env = self.environment(options, LD_PRELOAD=str(self.preload), **more)
        code, output, late = self.call(self.words(case), case.timeout, env, folder)
        return code, output, late, sorted(folder.glob("recorded.*.trace"))

    def check(self, traces, folder, timeout, *options):
        report = folder / "report.json"
        words = [str(self.streamsan), "check", *options, "--json", str(report), *map(str, traces)]
        code, text, late = self.call(words, timeout, self.environment(), folder)
        return Outcome(code, text, read_report(report), late)

    def mode_counts(self, case, folder):
        if isinstance(self.cupti_counts, BuildError):
            raise self.cupti_counts
        base = folder / "recorded.cupti"
        code, text, late, traces = self.preloaded(case, folder, CUDA_INJECTION64_PATH=str(self.cupti_counts),
                                                  STREAMSAN_CUPTI_COUNTS=str(base))
        outcome = Outcome(code, text, {"findings": []}, late)
        names = trace.compared_names(self.rows)
        compared = 0
        for path in traces:
            pid = path.name.split(".")[1]
            counted = Path(f"{base}.{pid}")
            if not counted.exists():
                outcome.complaints.append(f"process {pid} has a trace, but CUPTI counted nothing")
                continue
            cupti = coverage.read_cupti_counts(counted.read_bytes())
            recorded = trace.count_calls(path.read_bytes(), self.rows)
            outcome.complaints += coverage.differences(recorded, cupti, names)
            outcome.text += f"\nprocess {pid}, calls counted by CUPTI: {coverage.summary(cupti, names)}\n"
            compared += sum(calls for name, calls in cupti.items() if name in names)
        if compared == 0:
            outcome.complaints.append("no call was counted by both")
        return outcome


def judging(case):
    """Those of its options that `streamsan check` needs to judge as `streamsan run` would."""
    return ["--" + option for option in case.options if option.startswith("kernel_code=")]


def read_report(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return None
