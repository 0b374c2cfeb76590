// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-never-waited,event-wait-without-record %s
//
// Others may wait for it: it is handed out, passed on, or its time is taken.
#include <cuda_runtime.h>

void register_event(cudaEvent_t event);

class Source {
 public:
  Source() {
    cudaEventCreateWithFlags(&given_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&passed_, cudaEventDisableTiming);
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  void record(cudaStream_t stream) {
    cudaEventRecord(given_, stream);
    cudaEventRecord(passed_, stream);
    register_event(passed_);
    cudaEventRecord(begin_, stream);
    cudaEventRecord(end_, stream);
  }
  cudaEvent_t given() const { return given_; }
  float time() {
    float ms = 0;
    cudaEventSynchronize(end_);
    cudaEventElapsedTime(&ms, begin_, end_);
    return ms;
  }

 private:
  cudaEvent_t given_ = nullptr, passed_ = nullptr, begin_ = nullptr, end_ = nullptr;
};
