#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every variable of the recorder that a fork copies is renewed in the child, or the source says why it is kept.

    fork_state_test.py ROOT

Renewed: it is named in a function in_child::STEP() of its own file, or in one of that file's functions that is called
there. Kept: it is named in a comment that begins with "A fork keeps". The steps are those of interposer/fork.def. The
agents (footprints/, timings/) are libraries of their own: they have forget(), which in_child::learning and ::timing call.
A Next<> is a function of libc, the same in the child.
"""
import pathlib
import re
import sys
import tempfile
import unittest

VARIABLE = re.compile(r"^(?:STREAMSAN_HOT_\w+ )?(?:constinit|static|thread_local)\b(?! const\b)(?! constexpr\b)(?! Next<)"
                      r"[^()]*?\b(?:\w+::)*([gt]_\w+)")
LOCAL = re.compile(r"^\s+static (?!const\b|constexpr\b)(?:constinit )?(?!const\b|constexpr\b)(?:thread_local )?.*?(\w+)(?:\[[^;]*\])*\s*(?:=|\{|;)")
FUNCTION = re.compile(r"^[A-Za-z_][^;=]*?\b(?:(in_child)::)?(\w+)\([^;]*\)(?: const| noexcept)*\s*\{")
ROOT = None


def variables(text):
    for number, line in enumerate(text.splitlines(), 1):
        if found := VARIABLE.match(line) or LOCAL.match(line):
            yield number, found[1].split("::")[-1]


def bodies(text):
    """(is a step, name) -> text of each function that is defined at the left margin."""
    found, lines = {}, text.splitlines()
    for start, line in enumerate(lines):
        if match := FUNCTION.match(line):
            end = start
            if not line.rstrip().endswith("}"):
                end = next((i for i in range(start, len(lines)) if lines[i].startswith("}")), start)
            key = (match[1] is not None, match[2])
            found[key] = found.get(key, "") + "\n".join(lines[start:end + 1])
    return found


def kept(text):
    return " ".join(re.findall(r"// A fork keeps.*(?:\n\s*//.*)*", text))


def problems(root):
    folder = root / "interposer"
    steps = set(re.findall(r"^SS_IN_CHILD\((\w+)\)", (folder / "fork.def").read_text(), re.MULTILINE))
    found = []
    for path in sorted([*folder.glob("*.cpp"), *folder.glob("host/*.cpp"), *folder.glob("threads/*.cpp")]):
        text = path.read_text()
        functions = bodies(text)
        renewed = "".join(body for (is_step, _), body in functions.items() if is_step)
        for (is_step, name), body in functions.items():
            if is_step and name not in steps:
                found.append(f"{path.relative_to(root)}: in_child::{name} is no step of fork.def")
            if not is_step and re.search(rf"\b{name}\(", renewed):
                renewed += body
        said = renewed + kept(text)
        found += [f"{path.relative_to(root)}:{number}: {name} is neither renewed in the child of a fork nor said to be kept"
                  for number, name in variables(text) if not re.search(rf"\b{name}\b", said)]
    return found


class ForkState(unittest.TestCase):
    def test_what_is_forgotten_is_found(self):
        with tempfile.TemporaryDirectory() as temporary:
            root = pathlib.Path(temporary)
            (root / "interposer").mkdir()
            (root / "interposer/fork.def").write_text("SS_IN_CHILD(known)  // a.cpp\n")
            (root / "interposer/a.cpp").write_text(
                "constinit int g_renewed = 0;\n"
                "STREAMSAN_HOT_DATA constinit std::atomic<int> g_by_another{0};\n"
                "constinit const int kConstant = 1;\n"
                "constinit char* g_forgotten[4] = {};\n"
                "constinit thread_local bool t_forgotten __attribute__((tls_model(\"initial-exec\"))) = false;\n"
                "// A fork keeps g_kept: it is\n// true in both, as g_also.\n"
                "constinit bool g_kept = false;\nconstinit bool g_also = false;\n"
                "static bool is_wanted(int x) { return x; }\n"
                "int next() {\n  static constinit int counter = 0;\n  static constexpr int kStep = 1;\n"
                "  return counter += kStep;\n}\n"
                "void forget_another() { g_by_another = 0; }\n"
                "void in_child::known() {\n  g_renewed = 0;\n  forget_another();\n}\n"
                "void in_child::other() {}\n")
            self.assertEqual([line.split(": ", 1)[0] + " " + line.split(": ", 1)[1].split()[0] for line in problems(root)],
                             ["interposer/a.cpp in_child::other", "interposer/a.cpp:4 g_forgotten",
                              "interposer/a.cpp:5 t_forgotten", "interposer/a.cpp:12 counter"])

    def test_all_state_is_renewed_or_kept(self):
        files = [*(ROOT / "interposer").glob("*.cpp"), *(ROOT / "interposer").glob("host/*.cpp")]
        self.assertGreater(sum(len(list(variables(path.read_text()))) for path in files), 100)
        self.assertEqual(problems(ROOT), [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
