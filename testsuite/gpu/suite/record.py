# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps traces of chosen runs as replay tests, which need no GPU: see testsuite/traces/README.md.

For each case that passed and is marked `record`: NAME.trace.xz, the trace cut to its used length and without paths, and NAME.test, a
lit test that expects of `streamsan check` what it found here: the stable facts of every finding. Addresses, lines and
wording are not among them: the program is not there when its trace is replayed, and wording has tests of its own. A
trace whose findings are not those of the case's row is not kept.
"""

import json
import lzma
import os
import tarfile
from pathlib import Path

from suite import trace
from suite.execute import judging
from suite.expect import compare_findings

END = "{{$}}"
LARGEST = 512 << 10  # of one packed trace: they are kept in the repository
TEST = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The test `{name}` of testsuite/gpu, recorded on {device} with driver {driver}.
#
# RUN: %unpack %S/{name}.trace.xz %t.trace
# RUN: %expect {exit} %streamsan check --symbolize=0 --json %t.json %t.trace > %t.text 2>&1
# RUN: %json %t.json | %filecheck %s
#
"""


class Traces:
    """The folder that traces are kept in, or an archive of it (.tar.gz) that is written by close()."""

    def __init__(self, place, scratch, goes_on):
        """scratch: a folder for what an archive will hold; goes_on: what is in the archive already stays in it."""
        self.archive = place if place.name.endswith(".tar.gz") else None
        self.folder = scratch / "traces" if self.archive else place
        if self.archive and goes_on and self.archive.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            with tarfile.open(self.archive) as archive:
                for member in archive.getmembers():
                    if member.isfile():
                        (self.folder / Path(member.name).name).write_bytes(archive.extractfile(member).read())

    def has(self, name):
        return all((self.folder / (name + suffix)).exists() for suffix in (".trace.xz", ".test"))

    def close(self):
        if not self.archive or not self.folder.exists():
            return
        partial = self.archive.with_name(self.archive.name + ".partial")
        with tarfile.open(partial, "w:gz") as archive:
            archive.add(self.folder, arcname=".")
        os.replace(partial, self.archive)


def facts(report):
    """Lines of tools/flatten-json, in its order: what stays the same whenever the trace is judged."""
    findings = report["findings"]
    yield "findings.size", len(findings)
    for number, finding in enumerate(findings):
        for at, access in enumerate(finding["accesses"]):
            yield f"findings[{number}].accesses[{at}].stream.name", access["stream"]["name"]
            yield f"findings[{number}].accesses[{at}].what", access["what"]
        for key in ("cause", "count", "hazard", "kind", "rule", "severity"):
            yield f"findings[{number}].{key}", finding[key]


def test_file(name, machine, code, report):
    lines = [f"{path} = {json.dumps(value)}" for path, value in facts(report)]
    # FileCheck would read these as a pattern or a variable.
    plain = [line for line in lines if "{{" not in line and "[[" not in line]
    return TEST.format(name=name, exit=code, **machine) + "".join(f"# CHECK: {line}{END}\n" for line in plain)


def keep(runner, case, folder, machine):
    """Why the case was not recorded, or an empty string."""
    work = runner.folder / f"{case.name}.record"
    work.mkdir(parents=True, exist_ok=True)
    _, text, late, traces = runner.preloaded(case, work)
    if late or len(traces) != 1:
        return f"{len(traces)} traces{', timed out' if late else ''}\n{text}"
    # Without symbols, as it will be judged: names of runtime functions come from the program file, too.
    outcome = runner.check(traces, work, case.timeout, "--symbolize=0", *judging(case))
    if outcome.report is None:
        return f"no report\n{outcome.text}"
    wrong = compare_findings(case.expect, outcome.report["findings"] + outcome.report.get("waits", []))
    if wrong:
        return "; ".join(wrong)
    data = traces[0].read_bytes()
    packed = lzma.compress(trace.without_places(data), preset=9)
    if len(packed) > LARGEST:
        return f"{len(packed)} bytes, too large to keep"
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case.name}.trace.xz").write_bytes(packed)
    (folder / f"{case.name}.test").write_text(test_file(case.name, machine, outcome.exit, outcome.report))
    return ""
