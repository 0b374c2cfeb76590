# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_odd_sources.py SOURCE FOLDER: copies of the source in other encodings.
make_odd_sources.py --latin-name SOURCE FOLDER EXPECT CODE TIDY ARGUMENT...: one whose name is not UTF-8, given to the
command as its first argument."""
import os
import sys


def write(name, text):
    with open(os.path.join(os.fsencode(folder), name), "wb") as out:
        out.write(text)


latin_name = sys.argv[1] == "--latin-name"
source, folder, *command = sys.argv[2 if latin_name else 1:]
with open(source, "rb") as file:
    text = file.read()
if latin_name:
    write(b"caf\xe9.cu", text)
    command.insert(3, os.path.join(os.fsencode(folder), b"caf\xe9.cu"))
    os.execv(command[0], command)
write(b"empty.cu", b"")
write(b"mark.cu", b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
write(b"latin.cu", text.replace(b"void step() {", b'void step() { static const char cafe[] = "\xe9"; (void)cafe;'))
write(b"wide.cu", text.decode().encode("utf-16"))
write(b"with blanks.cu", text)
