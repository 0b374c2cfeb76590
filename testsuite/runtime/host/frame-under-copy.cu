// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function copies from its local variable and returns. The twin's variable is the caller's and lives until the stream
// was waited for.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DIN_A_THREAD %s -o %t.thread -Xcompiler -pthread
// RUN: %expect 0 %run %t.thread 2>&1 | %sites --check-prefix=THREAD
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build -DFIXED -DIN_A_THREAD %s -o %t.fixed -Xcompiler -pthread
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan:
// CHECK: Free by the return of the function whose variable it was
// CHECK-NEXT: Previous read by cudaMemcpyAsync
// CHECK: upload{{.*}}[[COPY]]
// CHECK: R-CPY-13
//
// THREAD-NOT: ERROR
// THREAD: LATENT: streamsan:
// THREAD: upload{{.*}}[[COPY]]
// THREAD: R-CPY-13
#include <thread>

#include "must.h"

struct Parameters {
  int values[64];
};

static char* device;
static cudaStream_t stream;

__attribute__((noinline)) static void upload(const Parameters* given) {
  Parameters local = *given;
#ifdef FIXED
  const Parameters* source = given;
#else
  const Parameters* source = &local;
#endif
  must(cudaMemcpyAsync(device, source, sizeof *source, cudaMemcpyHostToDevice, stream));  // @COPY
  asm volatile("" ::"r"(&local) : "memory");
}

int main() {
  Parameters parameters{};
  must(cudaMalloc(&device, sizeof parameters));
  must(cudaStreamCreate(&stream));
#ifdef IN_A_THREAD
  std::thread([&] { upload(&parameters); }).join();
#else
  upload(&parameters);
#endif
  must(cudaStreamSynchronize(stream));
}
