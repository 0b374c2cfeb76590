// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-never-waited,event-wait-without-record %s
// RUN: %check event-never-waited,event-wait-without-record %s -- -DFIXED
//
// One half of what a class does with its event is missing, in whatever order its methods are called.
#include <cuda_runtime.h>

class Upload {
 public:
  Upload() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming);
    cudaMallocHost(&host_, 1024);
    cudaMalloc(&device_, 1024);
  }
  ~Upload() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(copied_);
    cudaStreamDestroy(stream_);
    cudaFreeHost(host_);
    cudaFree(device_);
  }
  void step(int value) {
#ifdef FIXED
    cudaEventSynchronize(copied_);
#endif
    host_[0] = value;
    cudaMemcpyAsync(device_, host_, 1024, cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(copied_, stream_);  // FIRES: event-never-waited
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t copied_ = nullptr;
  int* host_ = nullptr;
  int* device_ = nullptr;
};

class Table {
 public:
  Table() { cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming); }
  ~Table() { cudaEventDestroy(filled_); }
  void fill(const int* from, cudaStream_t stream) {
    cudaMemcpyAsync(device_, from, 1024, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaEventRecord(filled_, stream);
#endif
  }
  const int* get(cudaStream_t stream) {
    cudaStreamWaitEvent(stream, filled_, 0);  // FIRES: event-wait-without-record
    return device_;
  }

 private:
  cudaEvent_t filled_ = nullptr;
  int* device_ = nullptr;
};
