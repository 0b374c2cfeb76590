#include <cuda_runtime.h>
#include <cstdio>
#include <memory>
#include <queue>
#include <stdexcept>
#include <vector>

namespace pt {

inline void ck(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }

struct AsyncDelete {
  cudaStream_t stream = nullptr;
  void operator()(void* p) const { cudaFreeAsync(p, stream); }
};
using RayBuffer = std::unique_ptr<float4[], AsyncDelete>;

struct Wave {
  RayBuffer rays;
  int count = 0;
  cudaEvent_t filled = nullptr;
};

__global__ void camera_rays(float4* rays, int n, int tile) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float u = (i & 1023) / 1024.f, v = (i >> 10) / 1024.f;
  rays[i] = make_float4(u - 0.5f, v - 0.5f, 1.f, tile);
}

__global__ void shade(const float4* rays, int n, float* film) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 r = rays[i];
  float b = r.x * r.x + r.y * r.y;
  atomicAdd(&film[i & 0xffff], b < 0.2f ? sqrtf(0.2f - b) : 0.01f);
}

class Generator {
 public:
  Generator() { ck(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Generator() { cudaStreamSynchronize(s_); cudaStreamDestroy(s_); }

  Wave emit(int tile, int n) {
    float4* p = nullptr;
    ck(cudaMallocAsync(reinterpret_cast<void**>(&p), sizeof(float4) * n, s_));
    Wave w{RayBuffer(p, AsyncDelete{s_}), n, nullptr};
    camera_rays<<<(n + 255) / 256, 256, 0, s_>>>(w.rays.get(), n, tile);
    ck(cudaGetLastError());
    ck(cudaEventCreateWithFlags(&w.filled, cudaEventDisableTiming));
    ck(cudaEventRecord(w.filled, s_));
    return w;
  }

 private:
  cudaStream_t s_{};
};

class Shader {
 public:
  explicit Shader(int pixels) : pixels_(pixels) {
    ck(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    ck(cudaMalloc(&film_, sizeof(float) * pixels));
    ck(cudaMemsetAsync(film_, 0, sizeof(float) * pixels, s_));
  }
  ~Shader() {
    cudaStreamSynchronize(s_);
    cudaFree(film_);
    cudaStreamDestroy(s_);
  }

  void consume(Wave w) {
    adopt(w);
    shade<<<(w.count + 255) / 256, 256, 0, s_>>>(w.rays.get(), w.count, film_);
    ck(cudaGetLastError());
  }

  std::vector<float> develop() {
    std::vector<float> h(pixels_);
    ck(cudaMemcpyAsync(h.data(), film_, sizeof(float) * pixels_, cudaMemcpyDeviceToHost, s_));
    ck(cudaStreamSynchronize(s_));
    return h;
  }

 private:
  void adopt(Wave& w) {
    ck(cudaStreamWaitEvent(s_, w.filled, 0));
    ck(cudaEventDestroy(w.filled));
    w.filled = nullptr;
    w.rays.get_deleter().stream = s_;
  }

  int pixels_;
  cudaStream_t s_{};
  float* film_ = nullptr;
};

}  // namespace pt

int main() {
  pt::Generator gen;
  pt::Shader shader(1 << 16);
  std::queue<pt::Wave> inflight;
  for (int tile = 0; tile < 64; ++tile) {
    inflight.push(gen.emit(tile, 1 << 20));
    if (inflight.size() > 4) {
      shader.consume(std::move(inflight.front()));
      inflight.pop();
    }
  }
  while (!inflight.empty()) {
    shader.consume(std::move(inflight.front()));
    inflight.pop();
  }
  std::printf("centre %f\n", shader.develop()[1 << 15]);
}
