#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No file, no class and no function grows beyond what one can hold in the head.

    sizes_test.py ROOT            the tests: a file over 500 lines, a class whose methods are in more than four files, a
                                  function over 120 lines, or a comment over 120 columns
    sizes_test.py --print ROOT    the numbers of any tree of sources, with the length of functions

A class is in a file if the file defines one of its methods out of line (`Type::method(` from the left margin); classes of
one name in different folders are different ones. A function is as long as from its first line to its closing brace.
Lists say what may be larger, and why. Comments are looked at where they have a line of their own, and behind code of
C++. CUDA sources, which are tests mostly, and tables may have longer ones, and so may lines that a tool reads.
"""
import collections
import math
import os
import pathlib
import re
import statistics
import sys
import tempfile
import unittest

MOST_LINES = 500
MOST_FILES = 4
MOST_FUNCTION_LINES = 120
MOST_COLUMNS = 120

LONG_FILES = {
    "docs/api-coverage.md": "made from the table of driver functions",
    "docs/trace-format.md": "made from the table of records",
    "ordering/api/cuda_api.def": "a table: a row for each function of the driver",
    "trace/records.def": "a table: the words of each kind of record",
    "trace/old_functions.def": "a table: the functions of traces that were written before they named their own",
}
# By file and name: a case for each enumerator, or a row for each name, and nothing that could be said apart.
LONG_FUNCTIONS = {
    "analyzer/interpreter/library.cpp: functions": "a table: the functions of the C and C++ libraries",
    "judge/judge.cpp: take": "a switch: a case for each kind of record, one call in most",
    "judge/ptx/tests/interpreter.cpp: execute": "a switch: a case for each operation of PTX",
    "ordering/api/print_coverage.cpp: meaning": "a switch: a clause of the page for each effect",
    "ordering/api/row.cpp: name": "a switch: a word for each effect",
    "ordering/api/tests/positions_test.cpp: slots_of": "a switch: the operands of each effect",
    "ordering/tests/random_program.h: step": "a switch: a call of the model for each step",
}
TEXTS = {".cpp", ".h", ".cu", ".S", ".def", ".inc", ".c", ".py", ".sh", ".js", ".css", ".html", ".cmake", ".md", ".txt"}
CODE = {".cpp", ".h", ".cu"}
# Where a comment begins, by the kind of file: C and C++, or Python, shell and CMake.
SLASHES = re.compile(r"(?:^|\s)//")
SHARP = re.compile(r"^\s*#(?!!)")
COMMENTS = {".cpp": SLASHES, ".h": SLASHES, ".c": SLASHES, ".S": SLASHES, ".inc": SLASHES,
            ".py": SHARP, ".sh": SHARP, ".cmake": SHARP, "CMakeLists.txt": SHARP, "script": SHARP}
# What clang-tidy or a browser reads, and in the tests lit and FileCheck: it has to be on one line.
ONE_LINE = re.compile(r"NOLINT|https?://")
EXPECTED = re.compile(r"(?://|#) [A-Z][A-Z0-9-]*: ")
OTHERS_CODE = "testsuite/analyzer/exam/"  # written by people who had not seen this project, and kept as it was
# The name before the first parenthesis of a line that begins at the left margin.
METHOD = re.compile(r"^(?=[A-Za-z_])[^(;=\n]*?(?:\n[^(;=\n]*?)?\b((?:\w+::)+)(?:~?\w+|operator[^\s\w(]+)\(", re.MULTILINE)
NO_FUNCTION = re.compile(r"\s*(?:if|for|while|switch|else|do|return|namespace|class|struct|enum|union|case|catch|try|using|"
                         r"extern|static_assert|typedef|goto|throw|new|delete)\b")
ROOT = None


def sources(root, suffixes):
    """Path and text of the files, build trees and hidden folders left out."""
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = [f for f in sorted(folders) if not f.startswith(".") and not (here / f / "CMakeCache.txt").exists()]
        for name in sorted(files):
            if (here / name).suffix in suffixes:
                yield here.relative_to(root) / name, (here / name).read_text(errors="replace")


def long_files(root):
    """{path: lines} of those over MOST_LINES."""
    lines = {path.as_posix(): text.count("\n") for path, text in sources(root, TEXTS)}
    return {path: count for path, count in lines.items() if count > MOST_LINES}


def wide_classes(root):
    """{"folder: Type": files} of those with methods in more than MOST_FILES."""
    files = collections.defaultdict(set)
    for path, text in sources(root, {".cpp"}):
        for found in METHOD.finditer(text):
            # Namespaces are written small.
            owner = [name for name in found[1].split("::") if name[:1].isupper()]
            if owner:
                files[f"{path.parent.as_posix()}: {'::'.join(owner)}"].add(path.as_posix())
    return {name: len(of) for name, of in files.items() if len(of) > MOST_FILES}


def kind_of(path, text):
    if path.name == "CMakeLists.txt":
        return path.name
    return path.suffix or ("script" if text.startswith("#!") else "")


def long_comments(root):
    """path:line of those over MOST_COLUMNS."""
    found = []
    for path, text in sources(root, {suffix for suffix in COMMENTS if suffix.startswith(".")} | {".txt", ""}):
        begins = COMMENTS.get(kind_of(path, text))
        name = path.as_posix()
        if not begins or name.startswith(OTHERS_CODE):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            # In a literal // is no comment; without an odd quote behind it, it is in none.
            mark = begins.search(line) if len(line) > MOST_COLUMNS else None
            if not mark or line[mark.start():].count('"') % 2 or ONE_LINE.search(line):
                continue
            if not (name.startswith("testsuite/") and EXPECTED.search(line)):
                found.append(f"{name}:{number}")
    return found


def functions(text):
    """(name, lines) of those that begin at most four columns in: of namespaces, classes, and classes in these."""
    lines, found, at = text.splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        if indent > 4 or not re.match(r"[A-Za-z_~\[]", line.lstrip()) or "(" not in line or NO_FUNCTION.match(line):
            at += 1
            continue
        end = at
        while end < len(lines) - 1 and end < at + 12 and not re.search(r"[;{}]", lines[end]):
            end += 1
        head = " ".join(lines[at:end + 1])
        if not re.search(r"\)[^;{}()]*(?:\([^()]*\)[^;{}()]*)*\{", head) or re.match(r"\s*TEST\w*\(.*;", head):
            at = end + 1
            continue
        if lines[end].count("{") > lines[end].count("}"):
            closing = " " * indent + "}"
            while end < len(lines) - 1 and not lines[end].startswith(closing):
                end += 1
        found.append((re.search(r"([~\w]*)\W*?\(", head)[1], end - at + 1))
        at = end + 1
    return found


def long_functions(root):
    """{"path: name": lines} of those over MOST_FUNCTION_LINES."""
    return {f"{path.as_posix()}: {name}": length for path, text in sources(root, CODE) for name, length in functions(text)
            if length > MOST_FUNCTION_LINES and not path.as_posix().startswith(OTHERS_CODE)}


def report(root):
    lengths = sorted(length for _, text in sources(root, CODE) for _, length in functions(text))
    out = [f"files over {MOST_LINES} lines: {len(long_files(root))}"]
    out += [f"  {count:5} {path}" for path, count in sorted(long_files(root).items(), key=lambda each: -each[1])]
    out += [f"classes with methods in more than {MOST_FILES} files: {len(wide_classes(root))}"]
    out += [f"  {count:5} {name}" for name, count in sorted(wide_classes(root).items(), key=lambda each: -each[1])]
    out += [f"functions over {MOST_FUNCTION_LINES} lines: {len(long_functions(root))}"]
    out += [f"  {count:5} {name}" for name, count in sorted(long_functions(root).items(), key=lambda each: -each[1])]
    out += [f"functions of C++: {len(lengths)}, lines: median {statistics.median(lengths):g}, "
            f"90th percentile {lengths[math.ceil(0.9 * len(lengths)) - 1]}, longest {lengths[-1]}"]
    return "\n".join(out)


class Sizes(unittest.TestCase):
    def made(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = pathlib.Path(folder.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return pathlib.Path(folder.name)

    def test_a_long_file_is_found(self):
        root = self.made({"a/long.cpp": "\n" * (MOST_LINES + 1), "a/fits.cpp": "\n" * MOST_LINES, "a/data.json": "\n" * 999})
        self.assertEqual(long_files(root), {"a/long.cpp": MOST_LINES + 1})

    def test_a_wide_class_is_found(self):
        method = "std::vector<int> Wide::part{}(int a) const {{\n  return Other::use(a);\n}}\n"
        files = {f"a/{i}.cpp": method.format(i) + "void names::known() {}\nint Narrow::one() {}\n" for i in range(5)}
        files["a/0.cpp"] += "Deep::Inner::Answer Deep::Inner::ask() {}\nbool Deep::Inner::operator==(int) {}\n"
        # In another folder, or in one below, the name is that of another class.
        files["b/0.cpp"] = method.format(9)
        for i in range(5):
            files[f"a/{'upper' if i < 3 else 'lower'}/{i}.cpp"] = "int Twin::one() {}\n"
            files[f"a/lower/deep/{i}.cpp"] = "int Deepest::one() {}\n"
        for i in range(1, 5):
            files[f"a/{i}.cpp"] = files[f"a/{i}.cpp"].replace("int Narrow::one() {}", f"Deep::Inner::~Inner() {{}}  // {i}")
        self.assertEqual(wide_classes(self.made(files)), {"a: Wide": 5, "a: Deep::Inner": 5, "a/lower/deep: Deepest": 5})

    def test_a_long_comment_is_found(self):
        long = "x" * MOST_COLUMNS
        root = self.made({"a/a.cpp": f"// {long}\n// {long[3:]}\nint i;  ///< {long}\nf(\"{long} // \");\n// RUN: {long}\n"
                                     f"g(); // NOLINT({long})\n",
                          "a/b.py": f"# {long}\nwarn('{long}')  # not alone\n", "a/tool": f"#!/bin/sh\n# {long}\n",
                          "a/CMakeLists.txt": f"  # https://{long}\n# {long}\n", "a/notes.txt": f"# {long}\n",
                          "a/t.cu": f"// {long}\n", "testsuite/t.cpp": f"// RUN: {long}\n// {long}\n",
                          OTHERS_CODE + "a.cpp": f"// {long}\n"})
        self.assertEqual(long_comments(root), ["a/CMakeLists.txt:2", "a/a.cpp:1", "a/a.cpp:3", "a/a.cpp:5", "a/b.py:1",
                                               "a/tool:2", "testsuite/t.cpp:2"])

    def test_comments_are_not_too_wide(self):
        self.assertEqual(long_comments(ROOT), [])

    def test_functions_are_measured(self):
        self.assertEqual(functions("int one() { return 1; }\n"
                                   "int declared(int);\n"
                                   "bool A::two(const A& a,\n         const B& b) {\n  if (a) {\n    f();\n  }\n}\n"
                                   "struct S {\n  int get() const { return 1; }\n"
                                   "  void set() {\n    for (;;) {\n    }\n  }\n};\n"
                                   "const int kTable[] = {1, 2};\n"), [("one", 1), ("two", 6), ("get", 1), ("set", 4)])

    def test_a_long_function_is_found(self):
        body = "  f();\n" * (MOST_FUNCTION_LINES - 2)
        root = self.made({"a/a.cpp": f"void fits() {{\n{body}}}\nvoid A::grown() {{\n{body}  g();\n}}\n"})
        self.assertEqual(long_functions(root), {"a/a.cpp: grown": MOST_FUNCTION_LINES + 1})

    def test_functions_are_not_too_long(self):
        found = long_functions(ROOT)
        self.assertEqual({name: lines for name, lines in found.items() if name not in LONG_FUNCTIONS}, {})
        self.assertEqual(sorted(set(LONG_FUNCTIONS) - set(found)), [], "need no exception any more")

    def test_files_are_not_too_long(self):
        self.assertEqual({path: count for path, count in long_files(ROOT).items() if path not in LONG_FILES}, {})
        self.assertEqual(sorted(set(LONG_FILES) - set(long_files(ROOT))), [], "need no exception any more")

    def test_classes_are_not_too_wide(self):
        self.assertEqual(wide_classes(ROOT), {})

    def test_the_numbers_are_those_of_a_large_tree(self):
        self.assertGreater(sum(len(functions(text)) for _, text in sources(ROOT, CODE)), 3000)


if __name__ == "__main__":
    if sys.argv[1] == "--print":
        print(report(pathlib.Path(sys.argv[2]).resolve()))
        sys.exit()
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    print(report(ROOT))
    unittest.main()
