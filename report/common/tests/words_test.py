#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing is decided by the spelling of a word: meanings are enumerators, and their words stand in one table.

    words_test.py ROOT

Sources of report/, judge/, cli/ and analyzer/, tests left out, may compare text with a literal, or look for one in it
(starts_with, ends_with, contains, find), only in the files below: they read what others have written, in which nothing but
text is. A constant of the same file counts as the literal that it is. And nowhere else does a word of the tables with a hyphen
stand: such a literal is a second spelling of it. Nor does a name of state without a name in C++, such as $data, stand
in the analyzer outside of analyzer/ir/hidden.def. The test tests itself first.

Besides, no source and no page has a word of UNWANTED, which had come to mean too many things or is no everyday word.
"""
import os
import pathlib
import re
import sys
import tempfile
import unittest

FOLDERS = ("report", "judge", "cli", "analyzer")
TABLES = ("report/common/words.def", "cli/choices.def")
ROOT = None

# File or folder, and whose text it reads.
READERS = {
    "analyzer/analysis/first_rounds.cpp": "the text of numbers as the lowering writes it",
    "analyzer/analysis/number_tests.cpp": "the text of a condition as the lowering writes it",
    "analyzer/lowering/callables.cpp": "names of classes of the C++ library",
    "analyzer/lowering/container_calls.cpp": "names of the C++ library's classes and functions",
    "analyzer/lowering/handed_out.cpp": "names of classes of the C++ library",
    "analyzer/lowering/free_list_search": "names of functions and members of the C++ library",
    "report/output_file.cpp": "the path - is stdout",
    "report/common/call_name.h": "the endings of the driver's symbols",
    "report/read_json.cpp": "files of findings",
    "report/text.cpp": "names of functions in call stacks",
    "report/source_root.cpp": "parts of paths",
    "report/common/utf8.cpp": "characters of Unicode",
    "judge/ptx/": "PTX and the sections of ELF files",
    "judge/frames.cpp": "names of functions in call stacks",
    "judge/framework.cpp": "files, modules and kernels in call stacks",
    "judge/pointer_roles.cpp": "types of C++ in kernels' names",
    "judge/site_reader.cpp": "modules in call stacks",
    "analyzer/lowering/host_lifetimes.cpp": "the member by which every allocator of C++ gives memory back",
    "judge/elf_symbols.cpp": "names of sections of ELF files",
    "judge/symbolizer.cpp": "what the symbolizer prints",
    "judge/signature.cpp": "names of types in C++",
    "cli/main.cpp": "the command line",
    "cli/doctor.cpp": "names of files, and what a probe prints",
    "cli/executable.cpp": "names of the loader",
    "cli/processes.cpp": "the system's lists of files and variables of processes",
    "cli/command_line.cpp": "the command line",
    "cli/options.cpp": "truth values in options",
    "cli/session.cpp": "the paths stdout and stderr",
    "cli/outputs.cpp": "the path - is stdout",
    "cli/diff.cpp": "the path - is stdout",
    "cli/findings_source.cpp": "the path - is stdin",
    "cli/input_file.cpp": "paths of the system, such as /dev/null",
    "cli/preload.cpp": "the magic of ELF, names of environment variables",
    "cli/run.cpp": "extensions of files",
    "cli/footprint_cache.cpp": "values of an option that is also a folder",
    "cli/footprint_files.cpp": "names of folders",
    "analyzer/ir/counted_loops.cpp": "the text of expressions",
    "analyzer/ir/links.cpp": "the name of main(), the first line of a file",
    "analyzer/ir/parse.cpp": "the text form of the IR",
    "analyzer/ir/parse_ops.cpp": "the text form of the IR",
    "analyzer/ir/paths.cpp": "the text of conditions",
    "analyzer/ir/print_places.cpp": "the text form of the IR",
    "analyzer/ir/range.cpp": "operators in the text of expressions",
    "analyzer/ir/settled.cpp": "the text of conditions",
    "analyzer/ir/size_queries.cpp": "the namespace of CUB",
    "analyzer/ir/summaries.cpp": "files of summaries",
    "analyzer/ir/unnamed.cpp": "USRs of Clang",
    "analyzer/ir/words.cpp": "the text form of the IR",
    "analyzer/models/catalog.cpp": "names of C++ functions",
    "analyzer/models/driver.cpp": "the endings of the driver's symbols",
    "analyzer/models/families.cpp": "names of libraries' functions, types and namespaces",
    "analyzer/models/hip.cpp": "names of CUDA's functions, from which HIP's are made",
    "analyzer/models/host.cpp": "names of the C++ library's classes and members",
    "analyzer/models/host_calls.cpp": "names of functions of CUDA's host API and of message-passing libraries",
    "analyzer/models/models.cpp": "names of operators in C++",
    "analyzer/models/runtime.cpp": "names of CUDA's functions",
    "analyzer/models/types.cpp": "names of CUDA's and libraries' types",
    "analyzer/models/yaml.cpp": "model files",
    "analyzer/lowering/class_harness.cpp": "names of the C++ library's classes",
    "analyzer/lowering/census.cpp": "names of the standard library's functions",
    "analyzer/lowering/device_calls.cpp": "names of functions for devices",
    "analyzer/lowering/device_flow.cpp": "names of functions for devices, inline assembly",
    "analyzer/lowering/device_limits.cpp": "names of functions for devices",
    "analyzer/lowering/device_meeting.cpp": "names of functions for devices, inline assembly",
    "analyzer/lowering/device_statements.cpp": "names of functions for devices",
    "analyzer/lowering/exact_walk.cpp": "names of functions for devices",
    "analyzer/lowering/exact_values.cpp": "names of the variables and functions of CUDA for devices",
    "analyzer/lowering/device_grid_wait.cpp": "words of C++, of inline assembly",
    "analyzer/lowering/field_ownership.cpp": "names of C++ types",
    "analyzer/lowering/field_uses.cpp": "names of the standard library's functions and containers' members",
    "analyzer/lowering/fields.cpp": "names of C++ types",
    "analyzer/lowering/host_arguments.cpp": "names of fields",
    "analyzer/lowering/host_statements.cpp": "names of Clang's own variables",
    "analyzer/lowering/host_calls.cpp": "names of the standard library's and the compiler's functions",
    "analyzer/interpreter/caller_arguments.cpp": "names of C++ types",
    "analyzer/interpreter/caller_classes.cpp": "names of C++ types",
    "analyzer/interpreter/caller_numbers.cpp": "names of the program's parameters, and of containers' members",
    "analyzer/interpreter/caller_tensors.cpp": "the name of a tensor's member",
    "analyzer/interpreter/caller_text.cpp": "names of C++ types",
    "analyzer/interpreter/callers.cpp": "names that the macros of pybind11 and PyTorch make",
    "analyzer/interpreter/cuda.cpp": "the endings of CUDA's symbols",
    "analyzer/interpreter/cuda_launches.cpp": "names of Thrust's policies",
    "analyzer/interpreter/follower.cpp": "symbols of the C++ library and of kernels' stubs",
    "analyzer/interpreter/image.cpp": "symbols of type_infos",
    "analyzer/interpreter/library.cpp": "symbols of the C and C++ libraries",
    "analyzer/interpreter/library_text.cpp": "symbols of the C++ library",
    "analyzer/interpreter/library_threads.cpp": "symbols of the C++ library",
    "analyzer/interpreter/machine.cpp": "symbols of type_infos",
    "analyzer/interpreter/record_calls.cpp": "parts of names of the program's functions",
    "analyzer/interpreter/torch.cpp": "names of PyTorch's functions and classes",
    "analyzer/interpreter/torch_call.cpp": "names of arguments in schemas",
    "analyzer/interpreter/torch_operators.cpp": "names of PyTorch's operators and their arguments",
    "analyzer/interpreter/torch_schema.cpp": "the text of schemas",
    "analyzer/interpreter/torch_shapes.cpp": "names of PyTorch's operators and their arguments",
    "analyzer/interpreter/torch_tensors.cpp": "names of PyTorch's types and of a tensor's members",
    "analyzer/interpreter/ways_to_wait.cpp": "names of C++ types",
    "analyzer/lowering/host_algorithms.cpp": "names of the standard library's functions",
    "analyzer/lowering/host_tasks.cpp": "names of the standard library's types and functions",
    "analyzer/lowering/launch_helpers.cpp": "names of fields",
    "analyzer/lowering/map_keys.cpp": "names of the standard library's types and functions",
    "analyzer/lowering/host_containers.cpp": "names of containers' members",
    "analyzer/lowering/host_maps.cpp": "names of a map's members",
    "analyzer/lowering/host_optionals.cpp": "names of the standard library's types and functions",
    "analyzer/lowering/host_rounds.cpp": "the numbers that stand for variables in an expression",
    "analyzer/lowering/host_expressions.cpp": "names of the standard library's types and functions",
    "analyzer/lowering/host_sequences.cpp": "names of containers' members",
    "analyzer/lowering/device_bounds.cpp": "names of CUDA's variables",
    "analyzer/lowering/host_scan.cpp": "names of the C library's functions",
    "analyzer/lowering/host_standard.cpp": "names of the standard library's functions",
    "analyzer/lowering/host_tensors.cpp": "names of a tensor's members",
    "analyzer/lowering/tensor_options.cpp": "names of PyTorch's types and of options' members",
    "analyzer/lowering/host_tuples.cpp": "names of the standard library's functions",
    "analyzer/lowering/programmatic.cpp": "names of fields",
    "analyzer/lowering/shared_owners.cpp": "names of the C++ library's classes and members",
    "analyzer/lowering/symbols.cpp": "names of C++ types",
    "analyzer/tidy/fingerprint.cpp": "parts of paths",
    "analyzer/tidy/repairs.cpp": "the program's own expressions",
    "analyzer/tidy/settings.cpp": "values of clang-tidy's options",
    "analyzer/tidy/summary_files.cpp": "extensions of files",
    "analyzer/tidy/translation_unit.cpp": "names of functions in programs",
    "analyzer/tool/check_selection.cpp": "patterns of checks, as clang-tidy takes them",
    "analyzer/tool/command_line.cpp": "the command line",
    "analyzer/tool/driver.cpp": "extensions and names of files",
    "analyzer/tool/files.cpp": "parts of paths",
    "analyzer/tool/included_text.cpp": "compilers' flags, and #include lines",
    "analyzer/tool/nvcc_flags.cpp": "compilers' names and flags",
    "analyzer/tool/preparation.cpp": "extensions of files",
    "analyzer/tool/results.cpp": "what clang-tidy calls its diagnostics",
    "analyzer/tool/source_order.cpp": "words of C++",
    "analyzer/tool/toolkit.cpp": "the name of nvcc",
    "analyzer/analysis/value_compare.cpp": "the program's own expressions",
    "analyzer/analysis/values.cpp": "the program's own expressions",
    "analyzer/analysis/witness.cpp": "names in the IR",
    "analyzer/analysis/wording_parts.cpp": "the program's own expressions",
}

# Words, and what to say instead.
UNWANTED = {
    "told": "said, known, given, notified, distinguished: whichever it is",
    "untold": "not said, not known",
    "deed": "an operation, a call",
    "deeds": "operations, calls",
    "doer": "the function, the thread",
    "doers": "functions, threads",
    "books": "a ledger, a list, a table",
}
# File or folder, and the words that it may have, with the reason.
UNWANTED_KEPT = {
    "report/common/tests/words_test.py": (set(UNWANTED), "the list itself"),
    "judge/site_reader.cpp": ({"doer"}, "goes into fingerprints, which must not change"),
    "testsuite/analyzer/cross-stream-race/pools_keep_books.cu": ({"books"}, "the name of its class"),
}
OTHERS_TEXT = "testsuite/analyzer/exam/"  # written by people who had not seen this project, and kept as it was
TEXTS = {".cpp", ".h", ".cu", ".cuh", ".hip", ".S", ".c", ".def", ".inc", ".py", ".sh", ".cmake", ".md", ".txt", ".js", ".css",
         ".html", ".test", ".cfg", ".in", ""}

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"|(?P<text>"(?:[^"\\\n]|\\.)*")"""
                   r"""|'(?:[^'\\\n]|\\.)+'|(?P<op>[=!]=)|(?P<other>[^\s])""", re.DOTALL)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".cpp", ".h") and not re.search(r"/(tests|testing|benchmarks|compat)/", name):
                yield name, path.read_text()


def tokens(text):
    """(kind, text, line) of literals, of == and !=, and of all else; comments and raw literals are passed over."""
    line, counted = 1, 0
    for match in TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        if match.lastgroup in ("text", "op", "other"):
            yield match.lastgroup, match.group(), line


def comparisons(text):
    """Line and literal of each comparison with a literal."""
    known = list(tokens(text))
    for before, here, after in zip(known, known[1:], known[2:]):
        if here[0] != "op":
            continue
        for side in (before, after):
            if side[0] == "text":
                yield here[2], side[1]


COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')""", re.DOTALL)
CONSTANT = re.compile(r'\bconstexpr\s+(?:std::string_view|(?:const\s+)?char\s*\*?(?:\s*const)?)\s+(k\w+)(?:\[\])?\s*[={(]+\s*'
                      r'("(?:[^"\\\n]|\\.)*")')
LOOKS = re.compile(r'\b(?:starts_with|ends_with|contains|find|rfind|consume_front|consume_back)(?:_insensitive)?\(\s*'
                   r'(?:(?:std::string_view|llvm::StringRef)\(\s*)?("(?:[^"\\\n]|\\.)*"|k[A-Z]\w*)\s*[,)]')


def searches(text):
    """Line and literal of each look for a literal in a text; signs alone are syntax."""
    text = COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    constants = dict(CONSTANT.findall(text))
    for match in LOOKS.finditer(text):
        literal = constants.get(match[1], match[1])
        if literal.startswith('"') and re.search("[A-Za-z]", literal):
            yield text.count("\n", 0, match.start()) + 1, literal


def decisions(text):
    """What a file decides by the spelling of a text: (line, what it does)."""
    return ([(line, f"compares with {literal}") for line, literal in comparisons(text)] +
            [(line, f"looks for {literal}") for line, literal in searches(text)])


def words(root):
    found = set()
    for table in TABLES:
        found.update(re.findall(r'^SS_WORD\(\w+, "([^"]+)"\)', (root / table).read_text(), re.MULTILINE))
    return found


HIDDEN = re.compile(r"\$[a-z]\w*")


def hidden_names(root):
    """Line and literal of each text of the analyzer that has such a name in it."""
    return [(name, line, literal) for name, text in sources(root) if name.startswith("analyzer/")
            for kind, literal, line in tokens(text) if kind == "text" and HIDDEN.search(literal)]


def unwanted(root):
    """path:line: word of each, and the exceptions that were needed."""
    word = re.compile(r"\b(?:" + "|".join(UNWANTED) + r")\b", re.IGNORECASE)
    found, needed = [], set()
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = [f for f in sorted(folders) if not f.startswith(".") and not (here / f / "CMakeCache.txt").exists()]
        for path in (here / file for file in sorted(files) if pathlib.Path(file).suffix in TEXTS):
            name = path.relative_to(root).as_posix()
            if name.startswith(OTHERS_TEXT):
                continue
            kept = UNWANTED_KEPT.get(name, ((), ""))[0]
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                # In capitals it is a macro or a prefix of FileCheck's.
                for each in filter(lambda each: not each.isupper(), word.findall(line)):
                    if each.lower() in kept:
                        needed.add((name, each.lower()))
                    else:
                        found.append(f"{name}:{number}: {each}; say {UNWANTED[each.lower()]}")
    return found, needed


def faults(root):
    spelled = {f'"{word}"' for word in words(root) if "-" in word}
    found = [f"{name}:{line}: {literal} has a name of hidden.def" for name, line, literal in hidden_names(root)]
    for name, text in sources(root):
        if name.startswith(tuple(READERS)):
            continue
        found += [f"{name}:{line}: {what}" for line, what in decisions(text)]
        found += [f"{name}:{line}: {literal} is a word of the tables" for kind, literal, line in tokens(text)
                  if kind == "text" and literal in spelled]
    return found


class WordsTest(unittest.TestCase):
    def test_faults_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for table in TABLES:
                (root / table).parent.mkdir(parents=True, exist_ok=True)
                (root / table).write_text((ROOT / table).read_text())
            (root / "judge/ptx").mkdir(parents=True)
            (root / "judge/ptx/word.cpp").write_text('bool wide(Text t) { return t == "wide"; }\n')
            (root / "judge/right.cpp").write_text('// a == "word"\nauto s = "==" + text(x == Verdict::Needed);\n')
            self.assertEqual(faults(root), [])
            (root / "judge/wrong.cpp").write_text('int a = verdict == "needed";\nint b = "x" != kind;\nf("other-device");\n')
            self.assertEqual(faults(root), ['judge/wrong.cpp:1: compares with "needed"', 'judge/wrong.cpp:2: compares with "x"',
                                            'judge/wrong.cpp:3: "other-device" is a word of the tables'])
            (root / "judge/wrong.cpp").write_text('constexpr std::string_view kHost = "the host";\n// x.find("y")\n'
                                                  'a.starts_with(kHost), b.find(kOther), c.find("::"), d.find(\'x\');\n'
                                                  'e.ends_with(\n    "goes out of scope"), f.contains("object.");\n')
            self.assertEqual(faults(root), ['judge/wrong.cpp:3: looks for "the host"',
                                            'judge/wrong.cpp:4: looks for "goes out of scope"',
                                            'judge/wrong.cpp:5: looks for "object."'])
            (root / "judge/wrong.cpp").unlink()
            (root / "analyzer/ir").mkdir(parents=True)
            (root / "analyzer/ir/parse.cpp").write_text('// "$data"\nplace.name = "$0";\nkey.ends_with(".$data");\n')
            self.assertEqual(faults(root), ['analyzer/ir/parse.cpp:3: ".$data" has a name of hidden.def'])

    def test_nothing_is_decided_by_spelling(self):
        self.assertGreater(sum(1 for _, text in sources(ROOT) for _ in comparisons(text)), 100, "the reading is broken")
        self.assertEqual(faults(ROOT), [])

    def test_unwanted_words_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("docs/a.md", "judge/b.cpp", OTHERS_TEXT + "c.cu", "judge/site_reader.cpp", "d.json"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("// Told by the doer.\nnotebooks, TOLD and told_by are no such words\n")
            self.assertEqual([each.split(";")[0] for each in unwanted(root)[0]],
                             ["docs/a.md:1: Told", "docs/a.md:1: doer", "judge/b.cpp:1: Told", "judge/b.cpp:1: doer",
                              "judge/site_reader.cpp:1: Told"])

    def test_no_unwanted_words(self):
        found, needed = unwanted(ROOT)
        self.assertEqual(found, [])
        kept = {(name, word) for name, (words, _) in UNWANTED_KEPT.items() for word in words}
        self.assertEqual(sorted(kept - needed), [], "need no exception any more")

    def test_every_reader_still_compares(self):
        deciding = [name for name, text in sources(ROOT) if decisions(text)]
        for prefix in READERS:
            with self.subTest(prefix):
                self.assertTrue(any(name.startswith(prefix) for name in deciding))


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
