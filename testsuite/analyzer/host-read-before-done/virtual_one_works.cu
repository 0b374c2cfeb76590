// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// RUN: %check host-read-before-done %s -- -DFIXED -DBOTH
//
// Two classes answer a virtual call, and one of them works on the device: what is done with an interface is looked at as
// it is with an object of that one. Where both do, it is not known which one runs.
#include <cuda_runtime.h>

#include <memory>
#include <vector>

__global__ void transform(const float* in, float* out) { out[threadIdx.x] = 2.0f * in[threadIdx.x]; }

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const float* apply(const float* in) = 0;
  virtual void settle() {}
};

class OnHost final : public Engine {
 public:
  const float* apply(const float* in) override {
    for (int i = 0; i < 256; ++i) out_[i] = 2.0f * in[i];
#ifdef BOTH
    cudaDeviceSynchronize();
#endif
    return out_;
  }

 private:
  float out_[256] = {};
};

class OnDevice final : public Engine {
 public:
  OnDevice() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&in_, 1024);
    cudaMalloc(&out_, 1024);
    cudaMallocHost(&result_, 1024);
  }
  const float* apply(const float* in) override {
    cudaMemcpyAsync(in_, in, 1024, cudaMemcpyHostToDevice, stream_);
    transform<<<1, 256, 0, stream_>>>(in_, out_);
    cudaMemcpyAsync(result_, out_, 1024, cudaMemcpyDeviceToHost, stream_);
    return result_;
  }
  void settle() override { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
  float *in_ = nullptr, *out_ = nullptr, *result_ = nullptr;
};

std::unique_ptr<Engine> make(bool on_device) {
  if (on_device) return std::make_unique<OnDevice>();
  return std::make_unique<OnHost>();
}

float first(Engine& engine, const float* in) {
  const float* out = engine.apply(in);
#if defined(FIXED) && !defined(BOTH)
  engine.settle();
#endif
  return out[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'out' while cudaMemcpyAsync (device to host) on stream 'engine.stream_' still writes it [streamsan-host-read-before-done]
}
