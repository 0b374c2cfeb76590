// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
//
// Events of unknown history (parameters, members, arrays filled by others) are not judged: silent.
#include <cuda_runtime.h>

void prepare(cudaEvent_t* event);

class Stage {
 public:
  Stage() { cudaEventCreateWithFlags(&done_, cudaEventDisableTiming); }
  void finish(cudaStream_t s) { cudaEventRecord(done_, s); }
  void after(cudaStream_t s) { cudaStreamWaitEvent(s, done_, 0); }

 private:
  cudaEvent_t done_;
};

void parameter(cudaStream_t s, cudaEvent_t e) { cudaStreamWaitEvent(s, e, 0); }

void filled_by_others(cudaStream_t s) {
  cudaEvent_t e;
  prepare(&e);
  cudaStreamWaitEvent(s, e, 0);
}

void first_iteration(cudaStream_t a, cudaStream_t b, int n) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  for (int i = 0; i < n; ++i) {
    if (i > 0) cudaStreamWaitEvent(b, e, 0);
    cudaEventRecord(e, a);
  }
  cudaStreamSynchronize(a);
}
