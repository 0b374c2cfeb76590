// Progressive path tracer: direct and indirect light are traced by two
// integrators on streams of their own and summed into one HDR film.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define RT_CHECK(expr)                                                        \
  do {                                                                        \
    cudaError_t rt_err_ = (expr);                                             \
    if (rt_err_ != cudaSuccess)                                               \
      throw std::runtime_error(std::string(#expr) + ": " +                    \
                               cudaGetErrorString(rt_err_));                  \
  } while (0)

namespace lumen {

struct Camera {
  float3 eye;
  float3 look;
  float fov;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : n_(n) {
    RT_CHECK(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T)));
  }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_ = 0;
};

__device__ inline float hash01(uint32_t x) {
  x ^= x >> 17;
  x *= 0xed5ad4bbu;
  x ^= x >> 11;
  return (x & 0xffffffu) / float(0x1000000);
}

__global__ void traceDirect(float4* film, Camera cam, uint32_t seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 c = film[i];
  float l = hash01(i * 9781u + seed) * cam.fov;
  film[i] = make_float4(c.x + l, c.y + l, c.z + l, c.w + 1.f);
}

__global__ void traceIndirect(float4* film, Camera cam, uint32_t seed, int bounces, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.f;
  for (int b = 0; b < bounces; ++b) s += hash01(i * 31u + seed * 7u + b) * 0.5f;
  float4 c = film[i];
  film[i] = make_float4(c.x + s * cam.eye.x, c.y + s, c.z + s, c.w);
}

__global__ void tonemap(const float4* film, uchar4* ldr, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 c = film[i];
  float inv = c.w > 0.f ? 255.f / c.w : 0.f;
  ldr[i] = make_uchar4(c.x * inv, c.y * inv, c.z * inv, 255);
}

class Integrator {
 public:
  Integrator() {
    RT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT_CHECK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  }
  virtual ~Integrator() {
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  // Starts one sample per pixel behind `ready`.
  void render(float4* film, const Camera& cam, uint32_t seed, int n, cudaEvent_t ready) {
    RT_CHECK(cudaStreamWaitEvent(stream_, ready, 0));
    launch(film, cam, seed, n, stream_);
    RT_CHECK(cudaGetLastError());
    RT_CHECK(cudaEventRecord(done_, stream_));
  }
  cudaEvent_t done() const { return done_; }

 protected:
  virtual void launch(float4*, const Camera&, uint32_t, int, cudaStream_t) = 0;

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

class DirectIntegrator final : public Integrator {
  void launch(float4* film, const Camera& cam, uint32_t seed, int n, cudaStream_t s) override {
    traceDirect<<<(n + 255) / 256, 256, 0, s>>>(film, cam, seed, n);
  }
};

class IndirectIntegrator final : public Integrator {
  void launch(float4* film, const Camera& cam, uint32_t seed, int n, cudaStream_t s) override {
    traceIndirect<<<(n + 255) / 256, 256, 0, s>>>(film, cam, seed, 4, n);
  }
};

class Renderer {
 public:
  Renderer(int w, int h) : n_(w * h), film_(n_), ldr_(n_) {
    RT_CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    RT_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    RT_CHECK(cudaMemsetAsync(film_.data(), 0, n_ * sizeof(float4), main_));
  }
  ~Renderer() {
    cudaStreamSynchronize(main_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(main_);
  }

  void addSample(const Camera& cam) {
    RT_CHECK(cudaEventRecord(ready_, main_));
    direct_.render(film_.data(), cam, ++seed_, n_, ready_);
    indirect_.render(film_.data(), cam, ++seed_, n_, direct_.done());
    RT_CHECK(cudaStreamWaitEvent(main_, direct_.done(), 0));
    RT_CHECK(cudaStreamWaitEvent(main_, indirect_.done(), 0));
  }

  std::vector<uchar4> resolve() {
    std::vector<uchar4> img(n_);
    tonemap<<<(n_ + 255) / 256, 256, 0, main_>>>(film_.data(), ldr_.data(), n_);
    RT_CHECK(cudaMemcpyAsync(img.data(), ldr_.data(), n_ * sizeof(uchar4),
                             cudaMemcpyDeviceToHost, main_));
    RT_CHECK(cudaStreamSynchronize(main_));
    return img;
  }

 private:
  int n_;
  DeviceArray<float4> film_;
  DeviceArray<uchar4> ldr_;
  DirectIntegrator direct_;
  IndirectIntegrator indirect_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  uint32_t seed_ = 0;
};

}  // namespace lumen
