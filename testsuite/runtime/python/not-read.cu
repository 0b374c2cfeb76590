// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that look like a Python and are none that is known: one line says so, nothing is read that may not be there,
// and everything else is as ever.
//
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.15.0 (main)"' %s -o %t.newer
// RUN: %run %t.newer 2>&1 | %filecheck %s --check-prefix=VERSION
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.8.18 (main)"' %s -o %t.older
// RUN: %run %t.older 2>&1 | %filecheck %s --check-prefix=VERSION
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' %s -o %t.threads
// RUN: %run %t.threads 2>&1 | %filecheck %s --check-prefix=LOCK
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.13.0 (main)"' %s -o %t.silent
// RUN: %run %t.silent 2>&1 | %filecheck %s --check-prefix=UNDESCRIBED
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.12.0 (main)"' -DSIZE=200 %s -o %t.patched
// RUN: %run %t.patched 2>&1 | %filecheck %s --check-prefix=STRUCTURES
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.12.0 (main)"' -DSIZE=192 %s -o %t.wild
// RUN: %run %t.wild 2>&1 | %filecheck %s --check-prefix=FRAMES
// RUN: env STREAMSAN_OPTIONS=python_stacks=0 %silent %t.wild
//
// RUN: %build %s -o %t.none
// RUN: %silent %t.none
// RUN: env STREAMSAN_OPTIONS=python_stacks=1 %run %t.none 2>&1 | %filecheck %s --check-prefix=NONE
//
// VERSION: WARNING: streamsan: call stacks have no lines of Python: this version of Python is not known; 3.9 to 3.14 are
// VERSION-NEXT: SUMMARY: streamsan: no errors;
// LOCK: WARNING: streamsan: call stacks have no lines of Python: of a Python without the global interpreter lock they are not read
// LOCK-NEXT: SUMMARY: streamsan: no errors;
// UNDESCRIBED: WARNING: streamsan: call stacks have no lines of Python: this Python does not describe its structures
// UNDESCRIBED-NEXT: SUMMARY: streamsan: no errors;
// STRUCTURES: WARNING: streamsan: call stacks have no lines of Python: its structures are not those of a Python of its version
// STRUCTURES-NEXT: SUMMARY: streamsan: no errors;
// FRAMES: WARNING: streamsan: call stacks have no lines of Python: the frames of its interpreter are not where they are expected
// FRAMES-NEXT: SUMMARY: streamsan: no errors;
// NONE: WARNING: streamsan: python_stacks=1, but there is no Python in this process
// NONE-NEXT: SUMMARY: streamsan: no errors;
#include "must.h"

#ifdef VERSION
extern "C" {
// The thread's state: what it says of its frame lies nowhere.
unsigned long state[64];
void* PyGILState_GetThisThreadState() {
  for (unsigned long& word : state) word = 0x7f0000000000;
  return state;
}
const char* Py_GetVersion() { return VERSION; }
#ifdef SIZE
unsigned long PyCode_Type[64] = {1, 1, 0, 0, SIZE};
unsigned long PyUnicode_Type[64];
unsigned long PyBytes_Type[64];
int _Py_IsFinalizing() { return 0; }
#endif
}
#endif

int main() {
  char* memory;
  for (int i = 0; i < 3; ++i) {
    must(cudaMalloc(&memory, 1 << 12));
    must(cudaMemset(memory, 0, 1 << 12));
    must(cudaDeviceSynchronize());
    must(cudaFree(memory));
  }
}
