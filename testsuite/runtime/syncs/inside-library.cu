// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library waits inside of one of its functions. The program cannot remove that.
//
// REQUIRES: nulldriver
// RUN: mkdir -p %t.dir
// RUN: %build_shared -DLIBRARY -shared -Xcompiler -fPIC %s -o %t.dir/libcublas_test.so
// RUN: %build_shared -L%t.dir -lcublas_test -Xlinker -rpath=%t.dir %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK: sync unneeded: cudaStreamSynchronize in cublasTestScale ([[CALL]]) is not needed in this run.
// CHECK-NEXT: 1 call{{.*}}, made inside of libcublas_test.so
// CHECK-NEXT: #0 main{{.*}}[[CALL]]
// CHECK: Fix: nothing in the program itself: the call is made inside of libcublas_test.so
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
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  cublasTestScale(stream, a);  // @CALL
  finish(stream, a, 2);
}

#endif
