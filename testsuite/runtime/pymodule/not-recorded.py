# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""In a program that is not recorded the module does nothing, and loads nothing that Python has not loaded.

RUN: %interpreter %s | %filecheck %s

CHECK: nothing happened
"""
import sys

before = set(sys.modules)
import streamsan  # noqa: E402

streamsan.mark("epoch 1")
streamsan.name(object(), "anything")
streamsan.name_stream(0, "default")
with streamsan.no_sync(), streamsan.allow_sync():
    pass
assert not streamsan.recorded()
loaded = {name for name in set(sys.modules) - before if not name.startswith("streamsan")}
assert not loaded & {"ctypes", "json", "subprocess", "torch"}, loaded
assert streamsan.findings() == []
print("nothing happened")
