// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// A buffer of RMM that is empty at its end gives nothing back, and so does not use the stream that it was made with.
#include <cuda_runtime.h>
#include <rmm/device_buffer.hpp>
#include <rmm/device_scalar.hpp>
#include <rmm/device_uvector.hpp>
#include <utility>

void made_empty() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  rmm::device_uvector<float> rows(0, s);
  rmm::device_buffer bytes(0, s);
  cudaStreamDestroy(s);
}

void released() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  rmm::device_uvector<float> rows(0, s);
  rows.resize(64, s);
  rows.release();
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}

void grown() {
  cudaStream_t s;
  cudaStreamCreate(&s);
#ifdef FIXED
  {
    rmm::device_uvector<float> rows(0, s);
    rows.resize(64, s);
  }
  cudaStreamDestroy(s);
#else
  rmm::device_uvector<float> rows(0, s);
  rows.resize(64, s);
  cudaStreamDestroy(s);
#endif
}  // FIRES: handle-use-after-destroy

void zero() {
  cudaStream_t s;
  cudaStreamCreate(&s);
#ifdef FIXED
  {
    rmm::device_scalar<int> count(0, s);
  }
  cudaStreamDestroy(s);
#else
  rmm::device_scalar<int> count(0, s);
  cudaStreamDestroy(s);
#endif
}  // FIRES: handle-use-after-destroy
