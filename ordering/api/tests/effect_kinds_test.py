#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CONTRIBUTING.md names each file that has to be looked at when an EffectKind is added, and no other.

    effect_kinds_test.py ROOT

Files that name a kind count, those of tests but for one left out: the compiler stops at that one. Files that CONTRIBUTING
names besides hold what a kind is made of (records, rules). The test tests itself first.
"""
import pathlib
import re
import sys
import tempfile
import unittest

FOLDERS = ("ordering", "interposer", "judge", "report", "cli", "trace", "analyzer")
BEGIN, END = "needs a new `EffectKind`", "\n## "
ROOT = None


def naming(root):
    """Paths of sources that name a kind."""
    found = set()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".cpp", ".h") and "/tests/" not in name and "EffectKind::" in path.read_text():
                found.add(name)
    return found


def listed(root):
    """Paths in the section about a new kind."""
    text = (root / "CONTRIBUTING.md").read_text()
    begin = text.index(BEGIN)
    section = text[begin:text.index(END, begin)]
    return {name for line in section.splitlines() if line.startswith("|") for name in re.findall(r"`([\w/*.]+\.\w+)`", line)}


class EffectKinds(unittest.TestCase):
    def test_files_that_name_a_kind_are_listed(self):
        self.assertEqual(sorted(naming(ROOT) - listed(ROOT)), [], "CONTRIBUTING.md does not name them")

    def test_listed_files_exist(self):
        missing = [name for name in listed(ROOT) if not list(ROOT.glob(name))]
        self.assertEqual(missing, [])

    def test_files_that_name_no_kind_hold_what_a_kind_is_made_of(self):
        self.assertEqual(sorted(listed(ROOT) - naming(ROOT)),
                         ["judge/testing/trace_builder.h", "judge/timeline.cpp", "ordering/api/tests/positions_test.cpp",
                          "ordering/model*.cpp", "ordering/model.h", "trace/records.def"])

    def test_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "judge/tests").mkdir(parents=True)
            (root / "judge/a.cpp").write_text("if (kind == EffectKind::Free) {}")
            (root / "judge/tests/b.cpp").write_text("EffectKind::Free")
            (root / "CONTRIBUTING.md").write_text(f"It {BEGIN}.\n\n| file |\n| `judge/c.cpp` |\n{END}Next\n| `judge/d.cpp` |\n")
            self.assertEqual(naming(root), {"judge/a.cpp"})
            self.assertEqual(listed(root), {"judge/c.cpp"})


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
