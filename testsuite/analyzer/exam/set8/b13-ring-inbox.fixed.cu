// Particle migration between GPUs arranged in a ring. Every rank owns an inbox that its left
// neighbour fills directly through peer memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define GPU(x)                                                                              \
  do {                                                                                      \
    cudaError_t rc = (x);                                                                   \
    if (rc != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s (%s:%d)\n", cudaGetErrorString(rc), __FILE__, __LINE__);     \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

constexpr int kParticles = 1 << 18;
constexpr int kInbox = 1 << 14;

struct Particle {
  float x, v;
  int alive;
};

__global__ void seed(Particle* p, int n, float speed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = {static_cast<float>(i) / n, speed * (1 + i % 7), 1};
}

// Moves particles; those that leave on the right go to `out`.
__global__ void moveAndCollect(Particle* p, int n, float dt, Particle* out, int* nOut) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !p[i].alive) return;
  p[i].x += p[i].v * dt;
  if (p[i].x < 1.f) return;
  int slot = atomicAdd(nOut, 1);
  if (slot >= kInbox) return;
  out[slot] = p[i];
  out[slot].x -= 1.f;
  p[i].alive = 0;
}

__global__ void admit(Particle* p, int n, const Particle* inbox) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kInbox || !inbox[i].alive) return;
  p[(i * 16) % n] = inbox[i];
}

class Rank {
 public:
  Rank(int device, float speed) : device_(device) {
    GPU(cudaSetDevice(device));
    GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU(cudaEventCreateWithFlags(&pushed_, cudaEventDisableTiming));
    GPU(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
    GPU(cudaMalloc(&particles_, sizeof(Particle) * kParticles));
    GPU(cudaMalloc(&outbox_, sizeof(Particle) * kInbox));
    GPU(cudaMalloc(&inbox_, sizeof(Particle) * kInbox));
    GPU(cudaMalloc(&count_, sizeof(int)));
    seed<<<kParticles / 256, 256, 0, stream_>>>(particles_, kParticles, speed);
  }
  ~Rank() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(particles_);
    cudaFree(outbox_);
    cudaFree(inbox_);
    cudaFree(count_);
    cudaEventDestroy(pushed_);
    cudaEventDestroy(cleared_);
    cudaStreamDestroy(stream_);
  }

  void openInbox() {
    GPU(cudaSetDevice(device_));
    GPU(cudaMemsetAsync(inbox_, 0, sizeof(Particle) * kInbox, stream_));
    GPU(cudaEventRecord(cleared_, stream_));
  }

  void advance(float dt) {
    GPU(cudaSetDevice(device_));
    GPU(cudaMemsetAsync(count_, 0, sizeof(int), stream_));
    GPU(cudaMemsetAsync(outbox_, 0, sizeof(Particle) * kInbox, stream_));
    moveAndCollect<<<kParticles / 256, 256, 0, stream_>>>(particles_, kParticles, dt, outbox_, count_);
  }

  void pushTo(const Rank& right) {
    GPU(cudaSetDevice(device_));
    GPU(cudaStreamWaitEvent(stream_, right.cleared_, 0));
    GPU(cudaMemcpyPeerAsync(right.inbox_, right.device_, outbox_, device_, sizeof(Particle) * kInbox, stream_));
    GPU(cudaEventRecord(pushed_, stream_));
  }

  void admitFrom(const Rank& left) {
    GPU(cudaSetDevice(device_));
    GPU(cudaStreamWaitEvent(stream_, left.pushed_, 0));
    admit<<<kInbox / 256, 256, 0, stream_>>>(particles_, kParticles, inbox_);
  }

  void wait() const { GPU(cudaStreamSynchronize(stream_)); }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t pushed_ = nullptr, cleared_ = nullptr;
  Particle *particles_ = nullptr, *outbox_ = nullptr, *inbox_ = nullptr;
  int* count_ = nullptr;
};

void step(std::vector<std::unique_ptr<Rank>>& ring, float dt) {
  const size_t n = ring.size();
  for (auto& r : ring) {
    r->openInbox();
    r->advance(dt);
  }
  for (size_t i = 0; i < n; ++i) ring[i]->pushTo(*ring[(i + 1) % n]);
  for (size_t i = 0; i < n; ++i) ring[(i + 1) % n]->admitFrom(*ring[i]);
}

int main() {
  int devices = 0;
  GPU(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::printf("needs two GPUs\n");
    return 0;
  }
  std::vector<std::unique_ptr<Rank>> ring;
  for (int d = 0; d < devices; ++d) ring.push_back(std::make_unique<Rank>(d, 0.01f * (d + 1)));
  for (int s = 0; s < 100; ++s) step(ring, 0.05f);
  for (auto& r : ring) r->wait();
  std::printf("%d ranks done\n", devices);
  return 0;
}
