// Removes dead particles from a plasma species and keeps the arrays dense.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define PLASMA_CHECK(expr)                                                            \
  do {                                                                                \
    cudaError_t err_ = (expr);                                                        \
    if (err_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::abort();                                                                   \
    }                                                                                 \
  } while (0)

namespace plasma {

// A single value in device memory with typed accessors.
template <typename T>
class DeviceCell {
 public:
  DeviceCell() { PLASMA_CHECK(cudaMalloc(&ptr_, sizeof(T))); }
  ~DeviceCell() { cudaFree(ptr_); }
  DeviceCell(const DeviceCell&) = delete;
  DeviceCell& operator=(const DeviceCell&) = delete;

  void reset(cudaStream_t stream = nullptr) {
    PLASMA_CHECK(cudaMemsetAsync(ptr_, 0, sizeof(T), stream));
  }

  T value(cudaStream_t stream = nullptr) const {
    T host{};
    PLASMA_CHECK(cudaMemcpyAsync(&host, ptr_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    PLASMA_CHECK(cudaStreamSynchronize(stream));
    return host;
  }

  T* data() { return ptr_; }

 private:
  T* ptr_ = nullptr;
};

struct Particle {
  float3 pos;
  float3 vel;
  float weight;
};

__global__ void compactKernel(const Particle* in, Particle* out, int n, int* kept) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Particle p = in[i];
  if (p.weight <= 0.f) return;
  out[atomicAdd(kept, 1)] = p;
}

__global__ void driftKernel(Particle* p, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i].pos.x += dt * p[i].vel.x;
  p[i].pos.y += dt * p[i].vel.y;
  p[i].pos.z += dt * p[i].vel.z;
  if (p[i].pos.z < 0.f) p[i].weight = 0.f;
}

class Species {
 public:
  explicit Species(int capacity) : capacity_(capacity) {
    PLASMA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    PLASMA_CHECK(cudaMalloc(&front_, sizeof(Particle) * capacity));
    PLASMA_CHECK(cudaMalloc(&back_, sizeof(Particle) * capacity));
  }
  ~Species() {
    cudaStreamSynchronize(stream_);
    cudaFree(front_);
    cudaFree(back_);
    cudaStreamDestroy(stream_);
  }
  Species(const Species&) = delete;
  Species& operator=(const Species&) = delete;

  // Copies a host population in; the host array may be reused afterwards.
  void load(const Particle* host, int n) {
    live_ = n < capacity_ ? n : capacity_;
    PLASMA_CHECK(cudaMemcpyAsync(front_, host, sizeof(Particle) * live_,
                                 cudaMemcpyHostToDevice, stream_));
    PLASMA_CHECK(cudaStreamSynchronize(stream_));
  }

  void drift(float dt) {
    if (live_ == 0) return;
    driftKernel<<<blocks(), kThreads, 0, stream_>>>(front_, live_, dt);
    PLASMA_CHECK(cudaGetLastError());
  }

  // Drops particles that left the domain. Returns the new population.
  int compact() {
    if (live_ == 0) return 0;
    kept_.reset();
    compactKernel<<<blocks(), kThreads, 0, stream_>>>(front_, back_, live_, kept_.data());
    PLASMA_CHECK(cudaGetLastError());
    std::swap(front_, back_);
    live_ = kept_.value(stream_);
    return live_;
  }

 private:
  static constexpr int kThreads = 256;
  int blocks() const { return (live_ + kThreads - 1) / kThreads; }

  int capacity_;
  int live_ = 0;
  cudaStream_t stream_ = nullptr;
  Particle* front_ = nullptr;
  Particle* back_ = nullptr;
  DeviceCell<int> kept_;
};

int advance(Species& s, float dt, int substeps) {
  for (int k = 0; k < substeps; ++k) s.drift(dt / substeps);
  return s.compact();
}

}  // namespace plasma
