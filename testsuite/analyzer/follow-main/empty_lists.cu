// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
// RUN: %expect 1 %tidy %s -- %mock | %filecheck %s
//
// The streams are joined in a loop that has no round for an empty list. Silent: joined behind it, or the function asks.
#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

__global__ void clear(int* votes) { votes[threadIdx.x] = 0; }
__global__ void count(int* votes, const int* ballots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&votes[ballots[i] % 256], 1);
}

struct District {
  const int* ballots;
  int n;
};

class Poll {
 public:
  Poll() {
    cudaStreamCreateWithFlags(&home_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&there_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  ~Poll() {
    cudaStreamSynchronize(home_);
    cudaStreamSynchronize(work_);
  }
  void hold(const std::vector<District>& districts) {
    int* votes = nullptr;
    cudaMallocAsync(reinterpret_cast<void**>(&votes), 256 * sizeof(int), home_);
    cudaEventRecord(there_, home_);
    cudaStreamWaitEvent(work_, there_, 0);
    clear<<<1, 256, 0, work_>>>(votes);
    for (const District& each : districts) {
      count<<<(each.n + 255) / 256, 256, 0, work_>>>(votes, each.ballots, each.n);
#ifndef FIXED
      cudaEventRecord(done_, work_);
      cudaStreamWaitEvent(home_, done_, 0);
#endif
    }
#ifdef FIXED
    cudaEventRecord(done_, work_);
    cudaStreamWaitEvent(home_, done_, 0);
#endif
    // CHECK: [[@LINE+2]]:5: warning: 'votes' is freed by cudaFreeAsync on stream 'home_' while kernel 'clear' on stream 'work_' still writes it
    // CHECK: with empty lists
    cudaFreeAsync(votes, home_);  // FIRES: premature-free
  }
  void hold_some(const std::vector<District>& districts) {
    if (districts.empty()) throw std::invalid_argument("nobody votes");
    int* votes = nullptr;
    cudaMallocAsync(reinterpret_cast<void**>(&votes), 256 * sizeof(int), home_);
    cudaEventRecord(there_, home_);
    cudaStreamWaitEvent(work_, there_, 0);
    clear<<<1, 256, 0, work_>>>(votes);
    for (const District& each : districts) {
      count<<<(each.n + 255) / 256, 256, 0, work_>>>(votes, each.ballots, each.n);
      cudaEventRecord(done_, work_);
      cudaStreamWaitEvent(home_, done_, 0);
    }
    cudaFreeAsync(votes, home_);
  }

 private:
  cudaStream_t home_ = nullptr, work_ = nullptr;
  cudaEvent_t there_ = nullptr, done_ = nullptr;
};
