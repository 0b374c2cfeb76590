// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace cannot be written: file-size limit, no such directory. One clear line says so, and the guest goes on as if
// nothing had happened. (SIGXFSZ, which the limit raises, would kill it.)
//
// RUN: %build %s -o %t
// RUN: %expect 2 %run sh -c 'ulimit -f 64; exec %t' > %t.out 2> %t.err
// RUN: %filecheck %s --input-file %t.out
// RUN: %filecheck %s --input-file %t.err --check-prefix=ERR
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.no-such-dir/x.trace %t > %t.out 2> %t.err
// RUN: %filecheck %s --input-file %t.out
// RUN: %filecheck %s --input-file %t.err --check-prefix=ERR
//
// CHECK: the guest has done its work
// ERR: streamsan{{.*}}disabled: cannot write the trace
// ERR-NOT: disabled
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (int i = 0; i < 1000; ++i) must(cudaMemsetAsync(buffer, i, 4096, stream));
  must(cudaStreamSynchronize(stream));
  std::puts("the guest has done its work");
}
