# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Lines of Python in the other formats, in suppressions and in reports that were stored.

RUN: mkdir -p %t.out
RUN: env GITHUB_WORKSPACE=%S STREAMSAN_OPTIONS=footprints=inferred,json=%t.json,sarif=%t.sarif,junit=%t.xml,html=%t.html,perfetto=%t.perfetto,github=1 %racy %interpreter %s > %t.github 2> %t.text
RUN: %json %t.json | %sites --check-prefix=JSON
RUN: %sites --check-prefix=SARIF < %t.sarif
RUN: %sites --check-prefix=GITHUB < %t.github
RUN: %sites --check-prefix=JUNIT < %t.xml
RUN: %sites --check-prefix=HTML < %t.html
RUN: %expect 66 %streamsan report %t.json > %t.again 2>&1
RUN: %sites --check-prefix=TEXT < %t.text
RUN: %sites --check-prefix=TEXT < %t.again

RUN: echo 'race:^produce$' > %t.function
RUN: echo 'race:formats.py' > %t.file
RUN: echo 'race:^consume$' > %t.other
RUN: env STREAMSAN_OPTIONS=footprints=inferred,suppressions=%t.function %silent %interpreter %s
RUN: env STREAMSAN_OPTIONS=footprints=inferred,suppressions=%t.file %silent %interpreter %s
RUN: env STREAMSAN_OPTIONS=footprints=inferred,suppressions=%t.other %racy %interpreter %s > %t.other.text 2>&1
RUN: env STREAMSAN_OPTIONS=footprints=inferred,gen_suppressions=1 %racy %interpreter %s 2>&1 | %sites --check-prefix=GEN

JSON: findings[0].accesses[0].stack[0].file = "{{.*}}formats.py"
JSON: findings[0].accesses[0].stack[0].function = "<module>"
JSON: findings[0].accesses[0].stack[0].language = "python"
JSON: findings[0].accesses[0].stack[0].library = false
SARIF: "uri": "formats.py"
GITHUB: file=formats.py,line=
JUNIT: formats.py
HTML: "python"
TEXT: #0 <module> {{.*}}[[COPY]]
TEXT: #0 produce {{.*}}[[FILL]]
TEXT: SUMMARY: {{.*}}[[COPY]] in <module>
GEN: race:^produce$
"""
import ctypes

import cuda

driver = ctypes.CDLL("libcuda.so.1")


def produce(memory, stream):
    driver.cuMemsetD8Async(memory, 0, ctypes.c_size_t(4096), stream)  # @FILL


cuda.start()
first, second = cuda.stream(), cuda.stream()
memory, other = cuda.device_memory(), cuda.device_memory()
produce(memory, first)
driver.cuMemcpyDtoDAsync_v2(other, memory, ctypes.c_size_t(4096), second)  # @COPY
cuda.wait_for_all()
