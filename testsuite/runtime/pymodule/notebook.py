# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""%load_ext streamsan: a cell prints what was found while it ran, under the cell's number, and again each time it is run
as it was. IPython itself is not needed: this has as much of its shell as the extension uses.

RUN: env STREAMSAN_OPTIONS=footprints=inferred %expect 66 %run %interpreter %s 2>%t.report | %filecheck %s
RUN: %filecheck %s --check-prefix=REPORT < %t.report
RUN: %silent %interpreter %s --fixed
RUN: %interpreter %s --not-recorded | %filecheck %s --check-prefix=PLAIN

CHECK: In[1] begins
CHECK-NEXT: In[2] begins
CHECK-NEXT: streamsan: ERROR: read-after-write: cuMemcpyDtoDAsync
CHECK-NEXT: cuMemcpyDtoDAsync (device to device) on stream 2
CHECK: <module> In[2]:4
CHECK: Fix: {{.*}}(In[2]:2){{.*}}(In[2]:4)
CHECK-NOT: ipykernel
CHECK: In[3] begins
CHECK-NEXT: In[4] begins
CHECK-NEXT: streamsan: ERROR: read-after-write: cuMemcpyDtoDAsync
CHECK: <module> In[4]:4
CHECK: In[5] begins
CHECK-NOT: streamsan:

The report at the end of the process has the names that Python has:
REPORT: ERROR: streamsan: read-after-write race
REPORT: <module> {{.*}}ipykernel_1{{.}}22.py:4

PLAIN: streamsan: this kernel is not recorded, so nothing will be found. Start it under the recorder: `streamsan run -- jupyter lab`
PLAIN-NEXT: no hook
"""
import sys

import streamsan

FOLDER = "/tmp/ipykernel_1/"
RACE = """
driver.cuMemsetD8Async(memory, 0, size, first)
if fixed: cuda.wait(first)
driver.cuMemcpyDtoDAsync_v2(other, memory, size, second)
cuda.wait_for_all()
"""


class Shell:
    """InteractiveShell: .events and .compile."""

    def __init__(self):
        self.events = self.compile = self
        self.hooks = []
        self.numbers = {}
        self.cells = 0
        self.names = {"fixed": "--fixed" in sys.argv}

    def register(self, event, hook):
        assert event == "post_run_cell", event
        self.hooks.append(hook)

    def unregister(self, event, hook):
        assert event == "post_run_cell", event
        self.hooks.remove(hook)

    def format_code_name(self, file):
        return ("Cell", f"In[{self.numbers[file]}]") if file in self.numbers else None

    def run_cell(self, text):
        self.cells += 1
        file = f"{FOLDER}{11 if 'import' in text else 22 if 'Memset' in text else 33}.py"  # a hash of the cell's text
        self.numbers[file] = self.cells
        if not self.names["fixed"]:
            print(f"In[{self.cells}] begins")
        exec(compile(text, file, "exec"), self.names)
        for hook in list(self.hooks):
            hook(object())


shell = Shell()
streamsan.load_ipython_extension(shell)
if "--not-recorded" in sys.argv:
    assert not shell.hooks
    streamsan.unload_ipython_extension(shell)
    print("no hook")
    raise SystemExit
streamsan.load_ipython_extension(shell)
assert len(shell.hooks) == 1, "loaded twice"
shell.run_cell("""
import ctypes, cuda
cuda.start()
driver, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(4096)
first, second = cuda.stream(), cuda.stream()
memory, other = cuda.device_memory(), cuda.device_memory()
""")
shell.run_cell(RACE)
shell.run_cell("cuda.wait_for_all()")
shell.run_cell(RACE)
streamsan.unload_ipython_extension(shell)
assert not shell.hooks
shell.run_cell(RACE)
