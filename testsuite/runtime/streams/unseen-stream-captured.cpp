// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream that was made without a call that the recorder sees (here by a function that is taken out of the driver's
// table of symbols), and is captured by the first call that it does see. To ask such a stream for its flags would break
// the capture. What comes after the capture is judged as in any stream.
//
// RUN: %build_driver %s -o %t -ldl
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DORDERED %s -o %t.fixed -ldl
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on device memory
// CHECK: Write{{.*}}cuMemsetD32Async
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cuMemsetD8Async
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan: 1 error
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

#include "first_device.h"
#include "must.h"

/// As the loader's tables have it, which the recorder's hook of dlsym() is not asked for.
template <class Function>
Function* out_of_driver(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  link_map* map = nullptr;
  if (!driver || dlinfo(driver, RTLD_DI_LINKMAP, &map) != 0) abort();
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  // The table of names stands behind that of symbols.
  for (const ElfW(Sym)* symbol = symbols; reinterpret_cast<const char*>(symbol) < names; ++symbol) {
    if (symbol->st_value != 0 && strcmp(names + symbol->st_name, name) == 0)
      return reinterpret_cast<Function*>(map->l_addr + symbol->st_value);
  }
  abort();
}

int main() {
  use_first_device();
  CUdeviceptr buffer;
  must(cuMemAlloc(&buffer, 4096));
  CUstream unseen, other;
  must(out_of_driver<decltype(cuStreamCreate)>("cuStreamCreate")(&unseen, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  must(cuStreamBeginCapture(unseen, CU_STREAM_CAPTURE_MODE_GLOBAL));
  must(cuMemsetD8Async(buffer, 3, 4096, unseen));
  CUgraph graph;
  must(cuStreamEndCapture(unseen, &graph));
  must(cuMemsetD8Async(buffer, 1, 4096, unseen));  // @FIRST
#ifdef ORDERED
  CUevent event;
  must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  must(cuEventRecord(event, unseen));
  must(cuStreamWaitEvent(other, event, 0));
#endif
  must(cuMemsetD32Async(buffer, 0, 1024, other));  // @SECOND
  must(cuStreamSynchronize(unseen));
  must(cuStreamSynchronize(other));
}
