// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library waits, and the program needs it: nothing is said.
//
// REQUIRES: nulldriver
// RUN: mkdir -p %t.dir
// RUN: %build_shared -DLIBRARY -shared -Xcompiler -fPIC %s -o %t.dir/libcublas_test.so
// RUN: %build_shared -L%t.dir -lcublas_test -Xlinker -rpath=%t.dir %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: synchronising call site: 1 needed
#ifdef LIBRARY

#include "must.h"

__global__ void scale(float* data) { data[threadIdx.x] *= 2; }

extern "C" void cublasTestScale(cudaStream_t stream, float* data) {
  scale<<<1, 32, 0, stream>>>(data);
  must(cudaGetLastError());
  must(cudaStreamSynchronize(stream));
}

#else

#include "syncs.h"

extern "C" void cublasTestScale(cudaStream_t stream, float* data);

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
  cublasTestScale(s1, a);  // @CALL
  std::printf("%p %p\n", static_cast<void*>(b), static_cast<void*>(s2));
}

#endif
