# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m streamsan: checks a Python program with the Python that this is.

    python -m streamsan [options] script.py [arguments]
    python -m streamsan [options] -m module [arguments]
    python -m streamsan [options] -c command [arguments]
    python -m streamsan [options] -- [options of Python] script.py [arguments]

is `streamsan run [options] -- python script.py [arguments]`, with this Python's own options (-X dev and the like) in
front of the program's. The options are those of `streamsan run`; what none of them is, `streamsan run` refuses.
"""
import sys

from . import main
from ._options import TAKE_VALUES

PROGRAM = ("-m", "-c")


def split(arguments):
    """The options of `streamsan run` at the front, and the rest: the program, as Python takes it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        option = arguments[at]
        if option == "--":
            return arguments[:at], arguments[at + 1:]
        if option[:2] in PROGRAM and not option.startswith("--"):
            break
        at += 2 if option.replace("-", "_").lstrip("_") in TAKE_VALUES or option == "-v" else 1
    return arguments[:at], arguments[at:]


def own_options():
    """What this Python was given before -m streamsan, also in one word with other letters: `-Im streamsan`."""
    words = list(getattr(sys, "orig_argv", []))[1:]
    for at, word in enumerate(words):
        letters, is_module, _ = word[1:].partition("m")
        # What stands behind these three in one word is their value.
        if word.startswith("-") and is_module and not set(letters) & set("WXc"):
            return words[:at] + (["-" + letters] if letters else [])
    return []


def run(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip() + "\n\nOptions: streamsan help run", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    options, program = split(arguments)
    if "--version" in options:
        sys.argv[1:] = ["--version"]
    else:
        python = [sys.executable, *own_options()] if program else []
        sys.argv[1:] = ["run", *options, "--", *python, *program]
    return main()


sys.exit(run(sys.argv[1:]))
