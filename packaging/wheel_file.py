# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a wheel: a zip file with a list of what is in it (PEP 427).

A build back end would want a project that it compiles itself; here the files exist already. Equal files give an equal
wheel: the time in it is that of SOURCE_DATE_EPOCH, or the first one that zip can tell.
"""
import base64
import hashlib
import os
import re
import stat
import subprocess
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def project_version():
    """As the CMake project has it, the only place."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(StreamSan VERSION ([0-9.]+)", text).group(1)



class WheelFile:
    def __init__(self, name, version, platform):
        self.name, self.version, self.platform = name.replace("-", "_"), version, platform
        self.files = {}  # path in the wheel: (content, executable)
        self.info = f"{self.name}-{version}.dist-info"

    def add(self, path, content, executable=False):
        self.files[str(path)] = (content, executable)

    def add_data(self, path, content):
        """A file that goes below the folder of the environment itself."""
        self.add(f"{self.name}-{self.version}.data/data/{path}", content)

    def add_text(self, path, text):
        self.add(path, text.encode())

    def add_tree(self, folder, to):
        for file in sorted(Path(folder).rglob("*")):
            if file.is_symlink() or file.is_file():  # a zip has no links: their target is taken
                executable = bool(file.stat().st_mode & stat.S_IXUSR)
                self.add(Path(to) / file.relative_to(folder), file.read_bytes(), executable)

    def add_package(self, folder):
        """Python sources, with @VERSION@ replaced."""
        for source in sorted(Path(folder).glob("*.py")):
            self.add_text(f"{Path(folder).name}/{source.name}", source.read_text().replace("@VERSION@", self.version))

    def add_metadata(self, template, entry_points, licences):
        """`template`: METADATA with @VERSION@. `entry_points`: the text of entry_points.txt. `licences`: name to file."""
        self.add_text(f"{self.info}/METADATA", Path(template).read_text().replace("@VERSION@", self.version))
        self.add_text(f"{self.info}/WHEEL",
                      "Wheel-Version: 1.0\nGenerator: packaging/wheel_file.py\nRoot-Is-Purelib: false\n"
                      f"Tag: py3-none-{self.platform}\n")
        self.add_text(f"{self.info}/entry_points.txt", entry_points)
        for name, file in sorted(licences.items()):
            self.add(f"{self.info}/licenses/{name}", Path(file).read_bytes())

    def write(self, folder):
        path = Path(folder) / f"{self.name}-{self.version}-py3-none-{self.platform}.whl"
        path.parent.mkdir(parents=True, exist_ok=True)
        when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
        record = f"{self.info}/RECORD"
        lines = []
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            def put(name, content, executable):
                entry = zipfile.ZipInfo(name, when)
                entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(entry, content)

            for name, (content, executable) in sorted(self.files.items(), key=lambda file: (".dist-info/" in file[0], file)):
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={digest},{len(content)}\n")
                put(name, content, executable)
            put(record, ("".join(lines) + f"{record},,\n").encode(), False)
        return path
