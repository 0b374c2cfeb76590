# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unpacked.py NAME NAME -- TIDY... -- SOURCE -- FLAGS...: one project as a checkout with .git and, in another place, as what a
source package holds. Writes the baseline of the first, and prints what each is compared with it. The folders are made where
no repository is around them."""
import os
import json
import re
import shutil
import subprocess
import sys
import tempfile

words = sys.argv[1:]
names, rest = words[:2], words[3:]
cut = rest.index("--")
tidy, rest = rest[:cut], rest[cut + 1:]
source, flags = rest[0], rest[2:]


def compared(folder, *options, cwd):
    run = subprocess.run([*tidy, *options, os.path.join(folder, "src", "racy.cu"), "--", *flags], cwd=cwd, text=True,
                         capture_output=True, check=False)
    found = re.search(r"baseline: (\d+ new, \d+ known)", run.stderr)
    return found.group(1) if found else run.stderr


with tempfile.TemporaryDirectory() as around:
    checkout, package = (os.path.join(around, str(i), "deep" * i, os.path.basename(name)) for i, name in enumerate(names))
    for folder in (checkout, package):
        os.makedirs(os.path.join(folder, "src"))
        shutil.copy(source, os.path.join(folder, "src", "racy.cu"))
        open(os.path.join(folder, "CMakeLists.txt"), "w").close()
    os.mkdir(os.path.join(checkout, ".git"))
    baseline = os.path.join(around, "baseline.json")
    compared(checkout, "--write-baseline", baseline, cwd=around)
    with open(baseline, encoding="utf-8") as file:
        print(*(finding["file"] for finding in json.load(file)["findings"]))
    print("checkout:", compared(checkout, "--baseline", baseline, cwd=around))
    print("package, from its root:", compared(package, "--baseline", baseline, cwd=package))
    print("package, from elsewhere:", compared(package, "--baseline", baseline, cwd=around))
