// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program and a plug-in with a runtime of its own each, both linked in: they share the driver and its primary context,
// and neither shows its runtime to the other.
//
// RUN: %build_static -DPLUG_IN -shared -Xcompiler -fPIC -o %t.so
// RUN: %build_static -o %t
// RUN: env STREAMSAN_NULL_COUNTS=%t.counts %t %t.so | %filecheck %s
// RUN: %filecheck %s --check-prefix=COUNTS --input-file=%t.counts

#include "check.h"

#ifdef PLUG_IN
__global__ void increment(int* p) { ++*p; }
extern "C" cudaError_t use(int* p) {
  increment<<<1, 1>>>(p);
  const cudaError_t launched = cudaGetLastError();
  return launched != cudaSuccess ? launched : cudaMemset(p, 7, sizeof(int));
}
#else
#include <dlfcn.h>
int main(int, char** arguments) {
  int* word;
  int value = 0;
  CHECK(cudaMalloc(&word, sizeof(int)));
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) std::printf("%s\n", dlerror());
  const auto use = reinterpret_cast<cudaError_t (*)(int*)>(dlsym(library, "use"));
  CHECK(use(word));
  CHECK(cudaMemcpy(&value, word, sizeof(int), cudaMemcpyDeviceToHost));
  // CHECK: 0x7070707 hidden 1
  std::printf("%#x hidden %d\n", value, dlsym(library, "cudaMemset") == nullptr);
  dlclose(library);
}
#endif

// COUNTS-DAG: cuDevicePrimaryCtxRetain 1
// COUNTS-DAG: cuLaunchKernel 1
// COUNTS-DAG: cuLibraryUnload 1
