// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// A stream of RMM that was moved from owns nothing: its end destroys no stream. The new owner's end does.
#include <cuda_runtime.h>
#include <rmm/cuda_stream.hpp>
#include <utility>

void moved() {
  rmm::cuda_stream first;
  rmm::cuda_stream second = std::move(first);
  second.synchronize();
}

void kept_behind_the_end() {
  cudaStream_t handle;
  rmm::cuda_stream first;
  {
    rmm::cuda_stream second = std::move(first);
    handle = second.value();
#ifdef FIXED
    cudaStreamSynchronize(handle);
#endif
  }
#ifndef FIXED
  cudaStreamSynchronize(handle);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'handle' is used by cudaStreamSynchronize after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'handle' is destroyed here
// CHECK-NOTES: :[[@LINE-12]]:20: note: stream 'handle' is created here
#endif
}
