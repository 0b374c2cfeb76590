// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A word in memory announces data: whoever waits for its value waits for what is in front of the write of that value, in
// the stream of the write. A word that nobody in sight writes is taken to order everything.
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void consume(const float* in, float* out) { out[0] += in[0]; }

constexpr int kSlots = 2, kBytes = 4096;

class Mailbox {
 public:
  Mailbox() {
    cuStreamCreate(&bulk_, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&notify_, CU_STREAM_NON_BLOCKING);
    cudaMalloc(&words_, kSlots * sizeof(unsigned));
    cudaMallocHost(&host_, kBytes);
    for (float*& slot : slots_) cudaMalloc(&slot, kBytes);
    for (CUevent& event : drained_) cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  }
  void post(unsigned n) {
    cuStreamWaitEvent(bulk_, drained_[n % kSlots], 0);
    cudaMemcpyAsync(slots_[n % kSlots], host_, kBytes, cudaMemcpyHostToDevice, bulk_);
#ifdef FIXED
    cuStreamWriteValue32(bulk_, word(n), n, 0);
#else
    cuStreamWriteValue32(notify_, word(n), n, 0);
#endif
  }
  const float* receive(unsigned n, CUstream consumer) {
    cuStreamWaitValue32(consumer, word(n), n, CU_STREAM_WAIT_VALUE_GEQ);
    return slots_[n % kSlots];
  }
  // silent: a kernel may write the word
  const float* receive_from_outside(CUdeviceptr outside, CUstream consumer) {
    cuStreamWaitValue32(consumer, outside, 1, CU_STREAM_WAIT_VALUE_EQ);
    return slots_[0];
  }
  void release(unsigned n, CUstream consumer) { cuEventRecord(drained_[n % kSlots], consumer); }

 private:
  CUdeviceptr word(unsigned n) const { return reinterpret_cast<CUdeviceptr>(words_ + n % kSlots); }
  CUstream bulk_ = nullptr, notify_ = nullptr;
  unsigned* words_ = nullptr;
  float *host_ = nullptr, *slots_[kSlots] = {};
  CUevent drained_[kSlots] = {};
};

int main() {
  Mailbox box;
  CUstream stream = nullptr, last = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&last, CU_STREAM_NON_BLOCKING);
  float *sum = nullptr, *outside = nullptr;
  cudaMalloc(&sum, sizeof(float));
  cudaMalloc(&outside, sizeof(float));
  cudaDeviceSynchronize();
  for (unsigned n = 1; n < 6; ++n) {
    box.post(n);
    consume<<<1, 1, 0, stream>>>(box.receive(n, stream), sum);  // FIRES: cross-stream-race
    box.release(n, stream);
  }
  consume<<<1, 1, 0, last>>>(box.receive_from_outside(reinterpret_cast<CUdeviceptr>(outside), last), sum);
  cudaDeviceSynchronize();
}
