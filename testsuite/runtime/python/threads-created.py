# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Where the threads of a Python program were started: by threading.Thread, or by a pool's submit(). From 3.14 on Python
tells their names to the system.

RUN: %racy %interpreter %s 2>&1 | %report
RUN: %racy %interpreter %s --pool 2>&1 | %report --check-prefix=POOL
RUN: %silent %interpreter %s --fixed

CHECK: ERROR: streamsan: write-after-write race
CHECK: Write by {{.*}}, host thread 2{{( "Thread-1 .*")?$}}
CHECK: Previous write by {{.*}}, host thread 1 (main){{$}}
CHECK: {{^}}    host thread 2{{( "Thread-1 .*")?}} created by {{(Thread\.)?}}start(){{$}}
CHECK-NEXT: Python:
CHECK-NEXT: #0 main {{.*}}[[THREAD]]
POOL: {{^}}    host thread 2{{( "ThreadPoolExec.*")?}} created by {{(ThreadPoolExecutor\.)?}}submit(){{$}}
POOL-NEXT: Python:
POOL-NEXT: #0 main {{.*}}[[POOL]]
"""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import cuda


def main():
    cuda.start()
    first, second = cuda.stream(), cuda.stream()
    memory = cuda.device_memory()

    def fill():
        cuda.fill(memory, second)

    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    if "--pool" in sys.argv:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(fill).result()  # @POOL
    else:
        thread = threading.Thread(target=fill)
        thread.start()  # @THREAD
        thread.join()
    cuda.wait_for_all()


main()
