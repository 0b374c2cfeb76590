// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir --checks=-*,streamsan-cross-stream-race %s -- %mock -DFIXED | %filecheck %s
//
// A source that the caller gives says a few times that there is more, or how much, and then that there is none. What an
// object is made for in `batch` and `tile` is how large these are.
#include <cuda_runtime.h>

#include <cstddef>
#include <functional>

__global__ void sum_up(const float* in, float* out, long count) { out[0] += in[count - 1]; }

// CHECK: [](float * p0, unsigned long p10) -> bool { static int left = 8; if (left-- <= 0) return {}; {{.*}} return (bool)true; }
// CHECK: new ::Feed({{.*}}, (long)64);
// CHECK: [](float * p0, unsigned long p10) -> unsigned long { static int left = 8; if (left-- <= 0) return {}; {{.*}} return (unsigned long)p10; }
class Feed {
 public:
  using Reader = std::function<bool(float* to, std::size_t count)>;
  Feed(Reader reader, long batch) : reader_(reader), batch_(batch) {
    cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming);
    cudaMallocHost(&host_, bytes());
    cudaMalloc(&device_, bytes());
  }
  ~Feed() {
    cudaDeviceSynchronize();
    cudaFreeHost(host_);
    cudaFree(device_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(upload_);
  }
  bool add_next(float* sum, cudaStream_t stream) {
    cudaDeviceSynchronize();
    if (!reader_(host_, static_cast<std::size_t>(batch_))) return false;
    cudaMemcpyAsync(device_, host_, bytes(), cudaMemcpyHostToDevice, upload_);
    cudaEventRecord(uploaded_, upload_);
#ifdef FIXED
    cudaStreamWaitEvent(stream, uploaded_, 0);
#endif
    sum_up<<<1, 1, 0, stream>>>(device_, sum, batch_);  // FIRES: cross-stream-race
    return true;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(batch_) * sizeof(float); }
  Reader reader_;
  long batch_;
  cudaStream_t upload_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  float *host_ = nullptr, *device_ = nullptr;
};

class Ingest {
 public:
  using Reader = std::function<std::size_t(float* to, std::size_t most)>;
  Ingest(Reader reader, int tile) : reader_(reader), tile_(static_cast<std::size_t>(tile)) {
    cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&sums_, cudaStreamNonBlocking);
    cudaMallocHost(&host_, tile_ * sizeof(float));
    cudaMalloc(&device_, tile_ * sizeof(float));
    cudaMalloc(&sum_, sizeof(float));
    cudaDeviceSynchronize();
  }
  ~Ingest() {
    cudaDeviceSynchronize();
    cudaFreeHost(host_);
    cudaFree(device_);
    cudaFree(sum_);
    cudaStreamDestroy(copies_);
    cudaStreamDestroy(sums_);
  }
  void all() {
    while (const std::size_t got = reader_(host_, tile_)) {
      cudaMemcpyAsync(device_, host_, got * sizeof(float), cudaMemcpyHostToDevice, copies_);
#ifdef FIXED
      cudaStreamSynchronize(copies_);
#endif
      sum_up<<<1, 1, 0, sums_>>>(device_, sum_, static_cast<long>(got));  // FIRES: cross-stream-race
      cudaDeviceSynchronize();
    }
  }

 private:
  Reader reader_;
  std::size_t tile_;
  cudaStream_t copies_ = nullptr, sums_ = nullptr;
  float *host_ = nullptr, *device_ = nullptr, *sum_ = nullptr;
};
