# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What streamsan-tidy costs: its CPU time over that of `clang -fsyntax-only`, on the same files with the same flags.

    analyzer_cost.py --tidy BIN -p DIR [FILE...]           files of a compile database, nvcc's or Clang's
    analyzer_cost.py --tidy BIN FILE... -- [FLAG...]       files with these flags

streamsan-tidy itself says which command Clang gets for a file (--driver-log), and Clang is run with that: a translated
command of nvcc is the same for both. Each round runs one after the other, file by file, so that what disturbs the
machine disturbs both. What counts is user CPU time, children included. Reported are the median over the rounds for each
file, its ratio, and the ratio of the sums of these medians. Files that Clang does not compile are left out and named.
"""

import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

COMPAT = pathlib.Path(__file__).resolve().parents[2] / "analyzer" / "tool" / "compat"


def run(command, folder=None):
    """User CPU seconds of a command and its children, and its exit code."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime, process.returncode


def in_place(word):
    """The headers that streamsan-tidy adds lie in a folder that is gone with it; here are their originals."""
    if word.endswith("/streamsan_cuda_compat.h"):
        return str(COMPAT / "streamsan_cuda_compat.h")
    if os.path.basename(os.path.dirname(word)).startswith("streamsan-tidy-") and word.endswith("/fallback"):
        return str(COMPAT)
    return word


class Source:
    """One file and both commands. `error`: why it cannot be measured."""

    def __init__(self, file, tidy, clang):
        self.file = file
        self.tidy = tidy
        self.clang = []
        self.folder = None
        self.seconds = {"clang": [], "tidy": []}
        log = subprocess.run([tidy[0], "--driver-log", *tidy[1:]], capture_output=True, text=True, errors="replace", check=False)
        entries = [line.split(": in ", 1)[1] for line in log.stderr.splitlines() if line.startswith(f"{file}: in ")]
        if len(entries) != 1:
            self.error = "streamsan-tidy shows no command, or several"
            return
        self.folder, words = entries[0].split(": ", 1)
        self.clang = [clang] + [in_place(word) for word in shlex.split(words)[1:]] + ["-w"]
        self.error = "Clang does not compile it" if run(self.clang, self.folder)[1] else None

    def measure(self):
        self.seconds["clang"].append(run(self.clang, self.folder)[0])
        self.seconds["tidy"].append(run(self.tidy)[0])

    def result(self):
        clang, tidy = (statistics.median(self.seconds[name]) for name in ("clang", "tidy"))
        return {"file": self.file, "clang_s": clang, "tidy_s": tidy, "ratio": tidy / clang if clang else None}


def database_files(folder):
    path = pathlib.Path(folder)
    entries = json.loads((path / "compile_commands.json" if path.is_dir() else path).read_text())
    return sorted({os.path.normpath(os.path.join(entry["directory"], entry["file"])) for entry in entries})


def read_arguments():
    own, flags = sys.argv[1:], None
    if "--" in own:
        at = own.index("--")
        own, flags = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidy", required=True, help="streamsan-tidy")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("-p", dest="database", metavar="DIR", help="folder of compile_commands.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth file")
    parser.add_argument("--json", metavar="FILE", help="write the results")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args(own)
    if (arguments.database is None) == (flags is None):
        parser.error("either -p or flags after --")
    if flags is not None and not arguments.files:
        parser.error("no files")
    return arguments, flags


def main():
    arguments, flags = read_arguments()
    files = [os.path.abspath(file) for file in arguments.files] or database_files(arguments.database)
    sources = []
    for file in files[:: arguments.every]:
        head = [os.path.abspath(arguments.tidy), "--quiet", "-j1"]
        tail = ["--", *flags] if flags is not None else []
        database = ["-p", arguments.database] if flags is None else []
        sources.append(Source(file, head + database + [file] + tail, arguments.clang))
    left_out = [source for source in sources if source.error]
    measured = [source for source in sources if not source.error]
    for _ in range(arguments.rounds):
        for source in measured:
            source.measure()
    results = sorted((source.result() for source in measured), key=lambda r: r["tidy_s"] - r["clang_s"], reverse=True)
    for result in results:
        ratio = "    -" if result["ratio"] is None else f"{result['ratio']:5.2f}"
        print(f"{result['clang_s']:7.3f} s {result['tidy_s']:7.3f} s  {ratio}  {result['file']}")
    for source in left_out:
        print(f"left out: {source.file}: {source.error}")
    clang, tidy = (sum(result[name] for result in results) for name in ("clang_s", "tidy_s"))
    total = tidy / clang if clang else None
    text = "none" if total is None else f"{total:.3f}"
    print(f"total: {clang:.2f} s {tidy:.2f} s, ratio {text}, {len(results)} files, {arguments.rounds} rounds")
    if arguments.json:
        outcome = {
            "rounds": arguments.rounds,
            "total": {"files": len(results), "clang_s": clang, "tidy_s": tidy, "ratio": total},
            "files": results,
            "left_out": [{"file": source.file, "error": source.error} for source in left_out],
        }
        pathlib.Path(arguments.json).write_text(json.dumps(outcome, indent=1) + "\n")
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
