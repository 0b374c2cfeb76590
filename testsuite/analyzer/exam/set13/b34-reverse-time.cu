// Reverse-time migration of marine shots. The source wavefield is propagated on one
// stream, the imaging condition is applied on another one.
#include <cuda_runtime.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rtm {

class cuda_category_impl : public std::error_category {
 public:
  const char* name() const noexcept override { return "cuda"; }
  std::string message(int code) const override {
    return cudaGetErrorString(static_cast<cudaError_t>(code));
  }
};

inline void raise_if(cudaError_t code) {
  static const cuda_category_impl category;
  if (code != cudaSuccess) throw std::system_error(static_cast<int>(code), category);
}

class stream {
 public:
  stream() { raise_if(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~stream() { cudaStreamDestroy(handle_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  operator cudaStream_t() const { return handle_; }
  void synchronize() const { raise_if(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

class event {
 public:
  event() { raise_if(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
  ~event() { cudaEventDestroy(handle_); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  void record(cudaStream_t s) { raise_if(cudaEventRecord(handle_, s)); }
  void block(cudaStream_t s) const { raise_if(cudaStreamWaitEvent(s, handle_, 0)); }

 private:
  cudaEvent_t handle_ = nullptr;
};

// Stream-ordered array, released on the stream it remembers.
template <typename T>
class async_array {
 public:
  async_array(std::size_t n, cudaStream_t s) : stream_(s) {
    void* p = nullptr;
    raise_if(cudaMallocAsync(&p, n * sizeof(T), s));
    data_ = static_cast<T*>(p);
  }
  async_array(async_array&& o) noexcept : data_(std::exchange(o.data_, nullptr)), stream_(o.stream_) {}
  async_array& operator=(async_array&&) = delete;
  ~async_array() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  void set_stream(cudaStream_t s) { stream_ = s; }

 private:
  T* data_ = nullptr;
  cudaStream_t stream_;
};

__global__ void propagate(float* next, const float* now, int nx, int nz, float courant2) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int z = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || z < 1 || x >= nx - 1 || z >= nz - 1) return;
  const int i = z * nx + x;
  next[i] = 2.f * now[i] - next[i] +
            courant2 * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] - 4.f * now[i]);
}

__global__ void injectSource(float* field, int nx, int sx, float amplitude) { field[nx + sx] += amplitude; }

__global__ void correlate(const float* source, float* image, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) image[i] += source[i] * source[i];
}

class migrator {
 public:
  migrator(int nx, int nz) : nx_(nx), nz_(nz), image_(cells(), imaging_) {
    raise_if(cudaMemsetAsync(image_.data(), 0, cells() * sizeof(float), imaging_));
  }

  void shot(int sx, int steps) {
    async_array<float> snapshot = model(sx, steps);
    apply_imaging(snapshot);
  }

  float peak(std::vector<float>& host) {
    host.resize(cells());
    raise_if(cudaMemcpyAsync(host.data(), image_.data(), cells() * sizeof(float),
                             cudaMemcpyDeviceToHost, imaging_));
    imaging_.synchronize();
    float best = 0.f;
    for (float v : host) best = v > best ? v : best;
    return best;
  }

 private:
  std::size_t cells() const { return std::size_t(nx_) * nz_; }

  async_array<float> model(int sx, int steps) {
    async_array<float> now(cells(), modelling_);
    async_array<float> next(cells(), modelling_);
    raise_if(cudaMemsetAsync(now.data(), 0, cells() * sizeof(float), modelling_));
    raise_if(cudaMemsetAsync(next.data(), 0, cells() * sizeof(float), modelling_));
    float* a = now.data();
    float* b = next.data();
    const dim3 block(32, 8);
    const dim3 grid((nx_ + 31) / 32, (nz_ + 7) / 8);
    for (int t = 0; t < 2 * steps; ++t) {
      injectSource<<<1, 1, 0, modelling_>>>(a, nx_, sx, t < 20 ? 1.f : 0.f);
      propagate<<<grid, block, 0, modelling_>>>(b, a, nx_, nz_, 0.2f);
      std::swap(a, b);
    }
    raise_if(cudaGetLastError());
    modelled_.record(modelling_);
    return now;
  }

  void apply_imaging(const async_array<float>& snapshot) {
    modelled_.block(imaging_);
    const int n = static_cast<int>(cells());
    correlate<<<(n + 255) / 256, 256, 0, imaging_>>>(snapshot.data(), image_.data(), n);
    raise_if(cudaGetLastError());
  }

  int nx_;
  int nz_;
  stream modelling_;
  stream imaging_;
  event modelled_;
  async_array<float> image_;
};

}  // namespace rtm

int main() {
  rtm::migrator migrate(1200, 600);
  for (int s = 100; s < 1100; s += 50) migrate.shot(s, 400);
  std::vector<float> image;
  std::cout << "peak amplitude " << migrate.peak(image) << '\n';
}
