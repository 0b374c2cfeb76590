// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s --levels=definite,maybe
// RUN: %check event-wait-without-record %s --levels=definite,maybe -- -DFIXED
//
// A stream forks another one off, and then waits for an event that it recorded itself: the fork is not joined.
#include <cuda_runtime.h>

class Migrator {
 public:
  Migrator() {
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&start_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  ~Migrator() {
    cudaStreamSynchronize(side_);
    cudaEventDestroy(start_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(side_);
    cudaStreamDestroy(main_);
  }
  void migrate(float* to, const float* from) {
    cudaEventRecord(start_, main_);
    cudaStreamWaitEvent(side_, start_, 0);
    cudaMemcpyAsync(to, from, 1024, cudaMemcpyDeviceToDevice, side_);
#ifdef FIXED
    cudaEventRecord(done_, side_);
#else
    cudaEventRecord(done_, main_);
#endif
    cudaStreamWaitEvent(main_, done_, 0);  // FIRES: event-wait-without-record
  }

 private:
  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaEvent_t start_ = nullptr, done_ = nullptr;
};
