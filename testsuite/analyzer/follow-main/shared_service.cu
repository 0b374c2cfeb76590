// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DALONE
//
// No main(): a class with a mutex serves several others, each of which works in a stream of its own. What one of them
// has waited for, the other one has not. Without the mutex nothing says that two share it.
#include <cuda_runtime.h>

#include <map>
#include <mutex>

__global__ void play(const float* wave, float* out) { out[threadIdx.x] += wave[threadIdx.x]; }

constexpr size_t kWave = 4096;

// Waves on the device, uploaded when they are asked for first.
class Cache {
 public:
  Cache() {
    cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking);
    cudaMallocHost(&staging_, kWave);
  }
  Cache(const Cache&) = delete;

  const float* get(int number, cudaStream_t user) {
#ifndef ALONE
    const std::lock_guard<std::mutex> lock(mutex_);
#endif
    const auto [at, is_new] = waves_.try_emplace(number);
    Wave& wave = at->second;
    if (is_new) {
      cudaMalloc(&wave.data, kWave);
      cudaEventCreateWithFlags(&wave.uploaded, cudaEventDisableTiming);
      cudaMemcpyAsync(wave.data, staging_, kWave, cudaMemcpyHostToDevice, upload_);
      cudaEventRecord(wave.uploaded, upload_);
#if !defined(FIXED) || defined(ALONE)
      cudaStreamWaitEvent(user, wave.uploaded, 0);
#endif
    }
#if defined(FIXED) && !defined(ALONE)
    cudaStreamWaitEvent(user, wave.uploaded, 0);
#endif
    return wave.data;
  }

 private:
  struct Wave {
    float* data = nullptr;
    cudaEvent_t uploaded = nullptr;
  };
#ifndef ALONE
  std::mutex mutex_;
#endif
  std::map<int, Wave> waves_;
  cudaStream_t upload_ = nullptr;
  float* staging_ = nullptr;
};

class Voice {
 public:
  explicit Voice(Cache& cache) : cache_(cache) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&out_, kWave);
  }
  ~Voice() {
    cudaStreamSynchronize(stream_);
    cudaFree(out_);
    cudaStreamDestroy(stream_);
  }
  Voice(const Voice&) = delete;

  void note(int number) {
    const float* wave = cache_.get(number, stream_);
    play<<<1, 256, 0, stream_>>>(wave, out_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'play' on stream 'stream_' may read 'wave.data' while cudaMemcpyAsync on stream 'upload_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-42]]:7: note: 'wave.data' is written here, on stream 'upload_'
// CHECK-NOTES: :[[@LINE-4]]:32: note: in the call to 'get' here
// CHECK-NOTES: :[[@LINE-43]]:7: note: event 'wave.uploaded' is recorded here, after the write, but stream 'stream_' does not wait for it
// CHECK-NOTES: :[[@LINE-59]]:5: note: stream 'upload_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-61]]:11: note: in the call to 'Cache' here
// CHECK-NOTES: :[[@LINE-19]]:5: note: stream 'stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:48: note: in the call to 'Voice' here
// CHECK-NOTES: :[[@LINE-51]]:7: note: 'wave.data' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:5: note: let stream 'stream_' wait for event 'wave.uploaded' with cudaStreamWaitEvent before kernel 'play'
// CHECK-NOTES: :[[@LINE-11]]:5: note: two objects of 'Voice' that share another one were made, and their public methods were called in turns (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
  }

 private:
  Cache& cache_;
  cudaStream_t stream_ = nullptr;
  float* out_ = nullptr;
};
