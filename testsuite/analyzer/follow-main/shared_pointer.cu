// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DSETTLES
//
// No main(): two walkers of a map share a store by std::shared_ptr, as its mutex says they may. The first one that asks
// brings the map in, in its own stream. The second one finds it there, and waits for nothing.
// Where the store can be waited for, whoever has the walkers may do so before there is a second one.
#include <cuda_runtime.h>

#include <memory>
#include <mutex>

__global__ void climb(const float* heights, float* path) { path[threadIdx.x] += heights[threadIdx.x]; }

constexpr size_t kMap = 4096;

class Store {
 public:
  Store() {
    cudaMallocHost(&read_, kMap);
    cudaEventCreateWithFlags(&there_, cudaEventDisableTiming);
  }
  ~Store() {
    cudaDeviceSynchronize();
    cudaFree(heights_);
    cudaFreeHost(read_);
    cudaEventDestroy(there_);
  }
  Store(const Store&) = delete;

  const float* get(cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (heights_ == nullptr) {
      cudaMalloc(&heights_, kMap);
      cudaMemcpyAsync(heights_, read_, kMap, cudaMemcpyHostToDevice, stream);
      cudaEventRecord(there_, stream);
    }
#if defined(FIXED) && !defined(SETTLES)
    cudaStreamWaitEvent(stream, there_, 0);
#endif
    return heights_;
  }
#ifdef SETTLES
  void settle() { cudaEventSynchronize(there_); }
#endif

 private:
  std::mutex mutex_;
  float *heights_ = nullptr, *read_ = nullptr;
  cudaEvent_t there_ = nullptr;
};

class Walker {
 public:
  explicit Walker(std::shared_ptr<Store> store) : store_(std::move(store)) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&path_, kMap);
  }
  ~Walker() {
    cudaStreamSynchronize(stream_);
    cudaFree(path_);
    cudaStreamDestroy(stream_);
  }
  Walker(const Walker&) = delete;

  void process() {
    const float* heights = store_->get(stream_);
    climb<<<1, 256, 0, stream_>>>(heights, path_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'climb' on stream 'stream_ (2)' may read 'heights_' while cudaMemcpyAsync on stream 'stream_ (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-35]]:7: note: 'heights_' is written here, on stream 'stream_ (1)'
// CHECK-NOTES: :[[@LINE-4]]:36: note: in the call to 'get' here
// CHECK-NOTES: :[[@LINE-36]]:7: note: event 'there_' is recorded here, after the write, but stream 'stream_ (2)' does not wait for it
// CHECK-NOTES: :[[@LINE-17]]:5: note: stream 'stream_ (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:76: note: in the call to 'Walker' here
// CHECK-NOTES: :[[@LINE-19]]:5: note: stream 'stream_ (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-42]]:7: note: 'heights_' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:5: note: let stream 'stream_ (2)' wait for event 'there_' with cudaStreamWaitEvent before kernel 'climb'
// CHECK-NOTES: :[[@LINE-10]]:5: note: two objects of 'Walker' that share another one were made, and their public methods were called in turns (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
  }

 private:
  std::shared_ptr<Store> store_;
  cudaStream_t stream_ = nullptr;
  float* path_ = nullptr;
};
