# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for pytest: `pytest --streamsan` runs the tests under the recorder, and a test in which something was found
fails with the report.

HOW THE FINDINGS COME BACK. The judge reads the trace while the tests run. At the end of a test's call, and again of its
teardown, the plugin asks it what has been found so far (streamsan.findings()): one question of some milliseconds, and
none where the test has not used CUDA. So a finding is in the test's own report, and -x, --lf, JUnit files and xdist know
of it. A judgement after the session would have been too late for all of these. What it would know better is a finding
whose later half is in a later test: then the earlier test has been reported as passed. It gets a second report, an error
at its teardown, as soon as the finding is known.

WHICH TEST A FINDING BELONGS TO is what marks in the trace say: each test marks its beginning and its end, setup and
teardown included, and a finding belongs to the tests in which its two operations were submitted, on whatever thread.
A fixture of a module belongs to the first test that uses it. A finding of none (a plugin's, at the session's end) makes
the session fail.

With xdist each worker is a process of its own, with a trace of its own, and asks for itself.

WHERE THE RECORDER COMES FROM. A preloaded library has to be there when Python starts. So a pytest that is not recorded
becomes `streamsan run -- ` itself, before anything is collected or captured. Its exit code is pytest's.
"""
import fnmatch
import os
import sys

import pytest

import streamsan

from . import _recorder

_REPORTS = {".html": "html", ".json": "json", ".sarif": "sarif", ".xml": "junit"}
_SEVERITIES = ("error", "latent", "possible")
_STARTED = "STREAMSAN_PYTEST"  # in the environment: this pytest has been started again


def pytest_addoption(parser):
    group = parser.getgroup("streamsan", "CUDA stream order (StreamSan)")
    group.addoption("--streamsan", action="store_true", help="run the tests under StreamSan; tests with findings fail")
    group.addoption("--streamsan-report", metavar="html|PATH",
                    help="also write a report of the session: html (streamsan-report.html), or a file whose name ends in "
                         + ", ".join(_REPORTS))
    group.addoption("--streamsan-severity", choices=_SEVERITIES, default="error",
                    help="least severity that makes a test fail (default: error)")
    group.addoption("--streamsan-options", metavar="OPTIONS", default="",
                    help="further options of `streamsan run`, between blanks")


def pytest_configure(config):
    config.addinivalue_line("markers", "streamsan_expect(*patterns): a finding that fits each pattern is expected: kind, "
                                       "hazard or fingerprint, or a pattern of the report's text; the test fails without")
    config.addinivalue_line("markers", "streamsan_allow(*patterns): findings that fit are no failure; without patterns: all")
    if config.getoption("--streamsan") and streamsan.recorded():
        config.pluginmanager.register(Session(config), "streamsan_session")


# ---- starting again under the recorder


def _report_option(wanted):
    path = "streamsan-report.html" if wanted == "html" else wanted
    kind = _REPORTS.get(os.path.splitext(path)[1])
    if kind is None:
        raise pytest.UsageError(f"--streamsan-report={wanted}: neither html nor a name that ends in {', '.join(_REPORTS)}")
    return f"--{kind}={os.path.abspath(path)}"


def _own_command():
    """The command line that this very Python was started with."""
    words = list(getattr(sys, "orig_argv", []))
    if words:
        return [sys.executable, *words[1:]]
    started_as_module = os.path.basename(sys.argv[0]) == "__main__.py"
    return [sys.executable, *(["-m", "pytest"] if started_as_module else sys.argv[:1]), *sys.argv[1:]]


def _start_again(given):
    command = ["streamsan", "run", "--exitcode=0", "--log_path=/dev/null", "--require_activity=0"]
    if given.streamsan_report:
        command.append(_report_option(given.streamsan_report))
    command += given.streamsan_options.split()
    os.environ[_STARTED] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(streamsan.executable(), [*command, "--", *_own_command()])
    except OSError as fault:
        raise pytest.UsageError(f"--streamsan: cannot run {streamsan.executable()}: {fault.strerror}") from fault


# Before the output is captured: that is done in a wrapper of this hook, and what is started would have no terminal.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    given = early_config.known_args_namespace
    if given.streamsan and not streamsan.recorded():
        if os.environ.pop(_STARTED, None):
            raise pytest.UsageError("--streamsan: the recorder is not in this process, though it was started with it; "
                                    "`streamsan doctor` tells why")
        # Called by a program (pytest.main()), which must not be replaced.
        if list(early_config.invocation_params.args) != sys.argv[1:]:
            raise pytest.UsageError("--streamsan: start the program that calls pytest.main() with `streamsan run --`")
        _start_again(given)
    os.environ.pop(_STARTED, None)
    yield


# ---- the session that is recorded


def _fits(finding, pattern):
    words = (finding.kind, finding.hazard, finding.fingerprint)
    return pattern in words or fnmatch.fnmatchcase(str(finding), f"*{pattern}*")


def _marked(item, name):
    return [pattern for mark in item.iter_markers(name) for pattern in (mark.args or ("*",))]


class Session:
    def __init__(self, config):
        self.config = config
        self.fails = _SEVERITIES[:_SEVERITIES.index(config.getoption("--streamsan-severity")) + 1]
        self.asked_at = 0    # position of the trace when it was asked last
        self.found = []      # the last answer
        self.known = set()   # (fingerprint, severity, test or None) that were reported, expected or allowed
        self.items = {}      # tests that have begun, by node id
        self.met = {}        # node id -> patterns of streamsan_expect that were met
        self.nowhere = []    # findings of no test
        self.fault = None    # why there are no findings

    def ask(self):
        """New (finding, test) pairs; the test is None for a finding of no test."""
        position = _recorder.table.position()
        if position == self.asked_at or self.fault:
            return []
        try:
            self.found = streamsan.findings()
        except Exception as fault:  # the tests' results must not depend on it, but the session's must
            self.fault = f"no findings: {fault}"
            return []
        # The question itself is a record.
        self.asked_at = _recorder.table.position()
        fresh = []
        for finding in self.found:
            for test in finding.tests or [None]:
                key = (finding.fingerprint, finding.severity, test)
                if key not in self.known:
                    self.known.add(key)
                    fresh.append((finding, test))
        return fresh

    def counts(self, finding, test):
        """Does the finding make the test fail? Notes which expectation it meets."""
        item = self.items.get(test)
        excused = False
        if item is not None:
            met = [pattern for pattern in _marked(item, "streamsan_expect") if _fits(finding, pattern)]
            self.met.setdefault(test, set()).update(met)
            excused = bool(met) or any(_fits(finding, pattern) for pattern in _marked(item, "streamsan_allow"))
        return not excused and finding.severity in self.fails

    def reports_of(self, nodeid):
        """What the test fails for that is new. New findings of other tests are reported there."""
        texts = []
        for finding, test in self.ask():
            if not self.counts(finding, test):
                continue
            if test is None:
                self.nowhere.append(finding)
            elif test == nodeid:
                texts.append(self.text(finding, test))
            else:
                self.report_late(test, self.text(finding, test))
        return texts

    @staticmethod
    def text(finding, test):
        others = [each for each in finding.tests if each != test]
        return str(finding) + ("\n  Together with: " + ", ".join(others) if others else "")

    def report_late(self, test, text):
        """For a test that has been reported already."""
        item = self.items.get(test)
        if item is None:  # a mark of somebody else's
            return
        report = pytest.TestReport(test, item.location, {each: 1 for each in item.keywords}, "failed",
                                   f"StreamSan, when a later test ran: {text}", "teardown")
        item.ihook.pytest_runtest_logreport(report=report)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.items[item.nodeid] = item
        _recorder.table.mark(_recorder.TEST, item.nodeid.encode(errors="replace"))
        yield
        _recorder.table.mark(_recorder.TEST, None)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if call.when == "setup":
            return
        texts = self.reports_of(item.nodeid)
        if call.when == "teardown" and not self.fault and self.ran_through(item):
            met = self.met.get(item.nodeid, ())
            texts += [f"streamsan_expect({pattern!r}): nothing of the kind was found"
                      for pattern in _marked(item, "streamsan_expect") if pattern not in met]
        if call.when == "call":
            item._streamsan_ran = not report.skipped
        if not texts:
            return
        text = "\n\n".join(texts)
        if report.passed and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"StreamSan: {text}"
        else:
            report.sections.append(("StreamSan", text))

    @staticmethod
    def ran_through(item):
        return getattr(item, "_streamsan_ran", False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        self.reports_of(None)
        if (self.nowhere or self.fault) and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_header(self):
        return f"streamsan: {streamsan.__version__}, tests are recorded"

    def pytest_terminal_summary(self, terminalreporter):
        if self.fault:
            terminalreporter.section("StreamSan", red=True)
            terminalreporter.line(self.fault)
        if self.nowhere:
            terminalreporter.section("StreamSan: outside of tests", red=True)
            for finding in self.nowhere:
                terminalreporter.line(str(finding))
        lesser = sum(finding.severity not in self.fails and finding.severity in _SEVERITIES[:2] for finding in self.found)
        if lesser:
            terminalreporter.line(f"streamsan: {lesser} latent, shown and counted with --streamsan-severity=latent")
        distributed = self.config.pluginmanager.hasplugin("dsession")  # then the workers know
        if not distributed and not self.items and not self.fault:
            return
        if not distributed and _recorder.table.position() == 0:
            terminalreporter.line("streamsan: no test has used CUDA in this process: nothing was checked")
