// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// A method records the one event of the class in each of its streams: seen where the loop over them is written out. With
// a number that is no constant, two are supposed.
#include <cuda_runtime.h>

#include <vector>

__global__ void work(float* part) { part[threadIdx.x] += 1.0f; }

class Fan {
 public:
  Fan() {
    for (int i = 0; i < 3; ++i) cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  void run(float* const* parts, cudaStream_t main) {
    for (int i = 0; i < 3; ++i) {
      work<<<1, 256, 0, streams_[i]>>>(parts[i]);
      cudaEventRecord(done_, streams_[i]);
      // CHECK-MESSAGES: :[[@LINE-1]]:7: warning: event 'this->done_' is recorded again on stream 'this->streams_[i]' before anything waited for its record on stream 'this->streams_[i]': a wait covers only the last record [streamsan-event-rerecord]
#ifdef FIXED
      cudaStreamWaitEvent(main, done_, 0);
#endif
    }
#ifndef FIXED
    cudaStreamWaitEvent(main, done_, 0);
#endif
  }

 private:
  cudaStream_t streams_[3];
  cudaEvent_t done_;
};

class WideFan {
 public:
  explicit WideFan(size_t width) : streams_(width) {
    for (size_t i = 0; i < streams_.size(); ++i) cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  void run(float* const* parts, cudaStream_t main) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      work<<<1, 256, 0, streams_[i]>>>(parts[i]);
      cudaEventRecord(done_, streams_[i]);
      // CHECK-MESSAGES: :[[@LINE-1]]:7: warning: event 'this->done_' is recorded again on stream 'this->streams_[i]' before anything waited for its record on stream 'this->streams_[i]': a wait covers only the last record [streamsan-event-rerecord]
#ifdef FIXED
      cudaStreamWaitEvent(main, done_, 0);
#endif
    }
#ifndef FIXED
    cudaStreamWaitEvent(main, done_, 0);
#endif
  }

 private:
  std::vector<cudaStream_t> streams_;
  cudaEvent_t done_;
};

// All that is recorded is on one stream.
void on_one(float* const* parts, cudaStream_t side, cudaStream_t main) {
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  for (int i = 0; i < 3; ++i) {
    work<<<1, 256, 0, side>>>(parts[i]);
    cudaEventRecord(done, side);
  }
  cudaStreamWaitEvent(main, done, 0);
}
