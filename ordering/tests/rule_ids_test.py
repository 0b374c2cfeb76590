#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every rule id in sources, tests and pages is a rule of ordering/rules.def or ordering/rule_catalog.def.

    rule_ids_test.py ROOT

Short forms count: R-CPY-01..05 names the two ends, R-EVT-01/03 both. The rule of an example of scripts/new-rule is one
that does not exist yet. The test tests itself first: an id that is no rule
must be found in a tree made for the purpose.
"""
import os
import pathlib
import re
import sys
import tempfile
import unittest

TABLES = {"ordering/rules.def": r'^SS_RULE\(\w+, "(R-[^"]+)"', "ordering/rule_catalog.def": r'^SS_CATALOG\("(R-[^"]+)"'}
# An area without a number ("R-CPY") is a name of its own and no rule. The digit behind .. or / may be a rule's number.
ID = re.compile(r"\bR-([A-Z]{2,4})-(\d+[a-z]?)((?:(?:\.\.|/)\d+)*)")
EXAMPLE = re.compile(r"scripts/new-rule R-\S+")
ROOT = None


def rules(root):
    found = set()
    for table, row in TABLES.items():
        found.update(re.findall(row, (root / table).read_text(), re.MULTILINE))
    return found


def texts(root):
    """Path and text of each text file, build trees and hidden folders left out."""
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = [f for f in folders
                      if (not f.startswith(".") or f in (".github", ".ci")) and not (here / f / "CMakeCache.txt").exists()]
        for name in sorted(files):
            try:
                yield here / name, (here / name).read_text()
            except (UnicodeDecodeError, OSError):
                pass  # an image, a trace


def cited(text):
    for number, line in enumerate(text.splitlines(), 1):
        for area, first, rest in ID.findall(EXAMPLE.sub("", line)):
            for digits in [first, *re.findall(r"\d+", rest)]:
                yield number, f"R-{area}-{digits}"


def unknown(root):
    known = rules(root)
    return [f"{path.relative_to(root)}:{number}: {rule}"
            for path, text in texts(root) for number, rule in cited(text) if rule not in known]


class RuleIds(unittest.TestCase):
    def test_an_id_that_is_no_rule_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for table in TABLES:
                (root / table).parent.mkdir(exist_ok=True)
                (root / table).write_text((ROOT / table).read_text())
            known = sorted(rules(root))[0]
            missing = "R-STR-" + "98"  # in two parts, lest this file names it
            (root / "page.md").write_text(f"see {known}\n{missing} and {known}/97\n$ scripts/new-rule {missing} policy\n")
            self.assertEqual(unknown(root), [f"page.md:2: {missing}", f"page.md:2: {known[:-2]}97"])

    def test_every_id_is_a_rule(self):
        self.assertGreater(sum(1 for _, text in texts(ROOT) for _ in cited(text)), 1000)
        self.assertEqual(unknown(ROOT), [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
