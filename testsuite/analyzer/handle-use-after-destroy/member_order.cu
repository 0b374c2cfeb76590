// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// Members end in the reverse order of their declaration: the stream before the buffer that is freed on it. No function
// of the class says so.
#include <cuda_runtime.h>

class Lane {
 public:
  Lane() { cudaStreamCreate(&handle_); }
  ~Lane() { cudaStreamDestroy(handle_); }
  Lane(const Lane&) = delete;
  cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:27: warning: stream 'this->lane_.handle_' is used by cudaFreeAsync after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE+29]]:11: note: 'scratch_' goes out of scope here
// CHECK-NOTES: :[[@LINE-15]]:13: note: stream 'this->lane_.handle_' is destroyed here
// CHECK-NOTES: :[[@LINE+28]]:8: note: 'lane_' goes out of scope here
// CHECK-NOTES: :[[@LINE-18]]:12: note: stream 'this->lane_.handle_' is created here
// CHECK-NOTES: :[[@LINE+17]]:3: note: in the call to 'Lane::Lane' here
// CHECK-NOTES: :[[@LINE+14]]:7: note: whenever an object of 'Index' ends
  }
  Scratch(const Scratch&) = delete;
  void open(unsigned long bytes, cudaStream_t stream) {
    stream_ = stream;
    cudaMallocAsync(&data_, bytes, stream_);
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

class Index {
 public:
  Index() { scratch_.open(1024, lane_.get()); }
  void clear() { cudaMemsetAsync(scratch_.data(), 0, 1024, lane_.get()); }

 private:
#ifdef FIXED
  Lane lane_;
  Scratch scratch_;
#else
  Scratch scratch_;
  Lane lane_;
#endif
};
