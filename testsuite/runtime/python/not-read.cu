// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that look like a Python and are none that is known: one line says so, nothing is read that may not be there,
// and everything else is as ever.
//
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.15.0 (main)"' %s -o %t.newer
// RUN: %run %t.newer 2>&1 | %filecheck %s --check-prefix=VERSION
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.8.18 (main)"' %s -o %t.older
// RUN: %run %t.older 2>&1 | %filecheck %s --check-prefix=VERSION
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.13.0 (main)"' %s -o %t.silent
// RUN: %run %t.silent 2>&1 | %filecheck %s --check-prefix=UNDESCRIBED
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.12.0 (main)"' -DSIZE=200 %s -o %t.patched
// RUN: %run %t.patched 2>&1 | %filecheck %s --check-prefix=STRUCTURES
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.12.0 (main)"' -DSIZE=192 %s -o %t.wild
// RUN: %run %t.wild 2>&1 | %filecheck %s --check-prefix=FRAMES
// RUN: env STREAMSAN_OPTIONS=python_stacks=0 %silent %t.wild
//
// Without the global lock: it describes the head of the other build, has another size, says that frames lie nowhere, and
// has a frame whose name is a str as in the other build. In the last program all is as it should be.
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' -DSIZE=232 -DTYPE_AT=8 %s -o %t.head
// RUN: %run %t.head 2>&1 | %filecheck %s --check-prefix=UNDESCRIBED
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' -DSIZE=208 -DTYPE_AT=24 %s -o %t.size
// RUN: %run %t.size 2>&1 | %filecheck %s --check-prefix=STRUCTURES
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' -DSIZE=232 -DTYPE_AT=24 %s -o %t.nowhere
// RUN: %run %t.nowhere 2>&1 | %filecheck %s --check-prefix=FRAMES
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' -DSIZE=232 -DTYPE_AT=24 -DTEXT=0x66 %s -o %t.text
// RUN: %run %t.text 2>&1 | %filecheck %s --check-prefix=FRAMES
// RUN: %build -Xcompiler -rdynamic -DVERSION='"3.14.0 free-threading build (main)"' -DSIZE=232 -DTYPE_AT=24 -DTEXT=0x1902 %s -o %t.read
// RUN: %silent %t.read
//
// RUN: %build %s -o %t.none
// RUN: %silent %t.none
// RUN: env STREAMSAN_OPTIONS=python_stacks=1 %run %t.none 2>&1 | %filecheck %s --check-prefix=NONE
//
// VERSION: WARNING: streamsan: call stacks have no lines of Python: this version of Python is not known; 3.9 to 3.14 are
// VERSION-NEXT: SUMMARY: streamsan: no errors;
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
using Word = unsigned long;
extern "C" {
#ifdef TYPE_AT
Word PyCode_Type[64] = {1, 1, 1, 1, 0, 0, SIZE};
#elif defined SIZE
Word PyCode_Type[64] = {1, 1, 0, 0, SIZE};
#endif
#ifdef SIZE
Word PyUnicode_Type[64];
Word PyBytes_Type[64];
int _Py_IsFinalizing() { return 0; }
#endif
const char* Py_GetVersion() { return VERSION; }
}

#ifdef TEXT
// A frame of 3.14t and its code object, named by a str whose state is TEXT.
static Word text[] = {0, 0, 0, Word(PyUnicode_Type), 4, 0, TEXT, 'n' + ('a' << 8) + ('m' << 16) + ('e' << 24)};
static Word lines[] = {0, 0, 0, Word(PyBytes_Type), 2, 0, 0x00d8};
static Word copies[2] = {1};
static Word code[64] = {0, 0, 0, Word(PyCode_Type), 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Word(text), 0, Word(text),
                        Word(lines), 0, 0, 0, 0, 0, 0, 0, 0, Word(copies)};
static Word frame[16] = {Word(code), 0, 0, 0, 0, 0, 0, Word(code + 29)};
#endif

extern "C" {
// The thread's state: what it says of its frame lies nowhere.
Word state[64];
void* PyGILState_GetThisThreadState() {
  for (Word& word : state) word = 0x7f0000000000;
#ifdef TEXT
  copies[1] = Word(code + 29);
  state[9] = Word(frame);
#endif
  return state;
}
#ifdef TYPE_AT
// As 3.14 has it in _Py_DebugOffsets: the version, and what is read of threads, frames, code and objects.
Word _PyRuntime[512];
__attribute__((constructor)) void describe() {
  __builtin_memcpy(_PyRuntime, "xdebugpy", 8);
  _PyRuntime[1] = 0x030e00f0;
  _PyRuntime[2] = 1;
  _PyRuntime[26] = 72;
  const Word of_frames[] = {88, 8, 0, 56, 80, 78, 64, 72};
  const Word of_code[] = {240, 128, 136, 144, 152, 84, 68, 112, 120, 232, 224};
  __builtin_memcpy(_PyRuntime + 31, of_frames, sizeof of_frames);
  __builtin_memcpy(_PyRuntime + 39, of_code, sizeof of_code);
  _PyRuntime[51] = TYPE_AT;
}
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
