#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links of the pages lead somewhere, and files that the pages for contributors name are there.

    docs_test.py ROOT

A link must be a file of the tree, its #anchor a heading of that page. In CONTRIBUTING.md, docs/architecture.md and the
sketches of scripts/new-*, `a/path.cpp` must end the path of a file or folder; * stands for any name. The rule that
CONTRIBUTING.md adds as an example must be a new one.
"""
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = None
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
NAMED = ["CONTRIBUTING.md", "docs/architecture.md"]
QUOTED = re.compile(r"`([\w.*-]+(?:/[\w.*-]+)+/?)`")


def prose(text):
    """Without fenced blocks, whose brackets are code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """As GitHub makes them of headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def broken_links(root):
    bad = []
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        for target in LINK.findall(prose(page.read_text())):
            if re.match(r"\w+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page if not path else page.parent / path
            if not file.exists():
                bad.append(f"{page.relative_to(root)}: no {path}")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                bad.append(f"{page.relative_to(root)}: no heading for {target}")
    return bad


def tree(root):
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f != ".git" and not (pathlib.Path(folder) / f / "CMakeCache.txt").exists()]
        names += ["/" + str((pathlib.Path(folder) / name).relative_to(root)) for name in files + folders]
    return "\n".join(names) + "\n"


def missing_files(root, pages):
    names = tree(root)
    bad = []
    for page in pages:
        for quoted in QUOTED.findall((root / page).read_text()):
            if quoted.startswith(("build/", "runtime/", "events/")) or "/X" in quoted:
                continue  # of the build tree, a label of ctest, a name to be chosen
            pattern = re.escape("/" + quoted.rstrip("/")).replace(r"\*", r"[\w.-]*")
            if not re.search(pattern + "$", names, re.MULTILINE):
                bad.append(f"{page}: no {quoted}")
    return bad


class Docs(unittest.TestCase):
    def test_links(self):
        self.assertEqual(broken_links(ROOT), [])

    def test_named_files(self):
        self.assertGreater(len(QUOTED.findall((ROOT / NAMED[0]).read_text())), 30)
        self.assertEqual(missing_files(ROOT, NAMED), [])

    def test_the_example_of_a_rule_is_new(self):
        rule = re.search(r"^\$ scripts/new-rule (R-\S+)", (ROOT / NAMED[0]).read_text(), re.MULTILINE)[1]
        for table in ("ordering/rules.def", "ordering/rule_catalog.def"):
            self.assertNotIn(f'"{rule}"', (ROOT / table).read_text(), table)

    def test_what_is_wrong_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/a.md").write_text("# One `two`\n[b](b.md) [ok](#one-two) [no](#two) [web](https://x.y/)\n"
                                            "```\n[not](a link)\n```\n`docs/a.md` `docs/c.md` `doc*/a.*`\n")
            self.assertEqual(broken_links(root), ["docs/a.md: no b.md", "docs/a.md: no heading for #two"])
            self.assertEqual(missing_files(root, ["docs/a.md"]), ["docs/a.md: no docs/c.md"])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
