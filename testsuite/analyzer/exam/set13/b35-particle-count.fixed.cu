// Plasma particle-in-cell: particles that leave the domain are dropped, and the host
// needs the number of survivors to size the launches of the following step.
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace pic {

inline void verify(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(e));
}
#define PIC_VERIFY(call) ::pic::verify((call), __FILE__, __LINE__)

struct Particle {
  float x, v;
};

__global__ void seed(Particle* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = Particle{float(i % 997) / 997.f, (i % 13 - 6) * 0.01f};
}

__global__ void pushAndCompact(const Particle* in, int n, Particle* out, int* alive, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle p = in[i];
  p.x += dt * p.v;
  if (p.x >= 0.f && p.x < 1.f) out[atomicAdd(alive, 1)] = p;
}

// Marks a section of work in a stream with an event.
class ScopedMark {
 public:
  ScopedMark(cudaEvent_t event, cudaStream_t stream) : event_(event), stream_(stream) {}
  ~ScopedMark() { cudaEventRecord(event_, stream_); }
  ScopedMark(const ScopedMark&) = delete;
  ScopedMark& operator=(const ScopedMark&) = delete;

 private:
  cudaEvent_t event_;
  cudaStream_t stream_;
};

// A device integer with a host mirror that follows one step behind.
class MirroredCount {
 public:
  MirroredCount() {
    PIC_VERIFY(cudaMalloc(&device_, sizeof(int)));
    PIC_VERIFY(cudaHostAlloc(&mirror_, sizeof(int), cudaHostAllocDefault));
    PIC_VERIFY(cudaEventCreateWithFlags(&mirrored_, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  ~MirroredCount() {
    cudaEventDestroy(mirrored_);
    cudaFreeHost(mirror_);
    cudaFree(device_);
  }
  MirroredCount(const MirroredCount&) = delete;
  MirroredCount& operator=(const MirroredCount&) = delete;

  int* reset(cudaStream_t stream) {
    PIC_VERIFY(cudaMemsetAsync(device_, 0, sizeof(int), stream));
    return device_;
  }

  void mirror(cudaStream_t stream) {
    const ScopedMark mark(mirrored_, stream);
    PIC_VERIFY(cudaMemcpyAsync(mirror_, device_, sizeof(int), cudaMemcpyDeviceToHost, stream));
  }

  int value() const {
    PIC_VERIFY(cudaEventSynchronize(mirrored_));
    return *mirror_;
  }

 private:
  int* device_ = nullptr;
  int* mirror_ = nullptr;
  cudaEvent_t mirrored_ = nullptr;
};

class Species {
 public:
  explicit Species(int n) : alive_(n) {
    PIC_VERIFY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    PIC_VERIFY(cudaMalloc(&front_, sizeof(Particle) * n));
    PIC_VERIFY(cudaMalloc(&back_, sizeof(Particle) * n));
    seed<<<(n + 255) / 256, 256, 0, stream_>>>(front_, n);
    PIC_VERIFY(cudaGetLastError());
  }
  ~Species() {
    cudaStreamSynchronize(stream_);
    cudaFree(back_);
    cudaFree(front_);
    cudaStreamDestroy(stream_);
  }
  Species(const Species&) = delete;
  Species& operator=(const Species&) = delete;

  void step(float dt) {
    if (pending_) alive_ = std::exchange(pending_, nullptr)->value();
    if (alive_ == 0) return;
    int* counter = count_.reset(stream_);
    pushAndCompact<<<(alive_ + 255) / 256, 256, 0, stream_>>>(front_, alive_, back_, counter, dt);
    PIC_VERIFY(cudaGetLastError());
    count_.mirror(stream_);
    pending_ = &count_;
    std::swap(front_, back_);
  }

  int alive() {
    if (pending_) alive_ = std::exchange(pending_, nullptr)->value();
    return alive_;
  }

 private:
  int alive_;
  cudaStream_t stream_ = nullptr;
  Particle* front_ = nullptr;
  Particle* back_ = nullptr;
  MirroredCount count_;
  const MirroredCount* pending_ = nullptr;
};

}  // namespace pic

int main() {
  pic::Species electrons(1 << 20);
  for (int t = 0; t < 200; ++t) electrons.step(0.05f);
  std::printf("%d electrons left\n", electrons.alive());
}
