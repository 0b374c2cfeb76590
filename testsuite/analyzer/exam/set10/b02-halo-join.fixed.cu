// Acoustic wave propagation on a chain of slabs; ghost planes are exchanged while the interior is stepped.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

static void check(cudaError_t err, const char* what, int line) {
  if (err == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(err));
  std::exit(2);
}
#define CK(x) check((x), #x, __LINE__)

struct Stream {
  cudaStream_t s{};
  Stream() { CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return s; }
};

struct Event {
  cudaEvent_t e{};
  Event() { CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e); }
  Event(const Event&) = delete;
  operator cudaEvent_t() const { return e; }
};

constexpr int kPlane = 128 * 128;

__global__ void step_interior(float* next, const float* cur, int planes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPlane || i >= (planes - 1) * kPlane) return;
  next[i] = cur[i] + 0.1f * (cur[i - kPlane] + cur[i + kPlane] - 2.f * cur[i]);
}

__global__ void pack_boundary(float* out, const float* cur, int planes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPlane) return;
  out[i] = cur[i];
  out[kPlane + i] = cur[(planes - 1) * kPlane + i];
}

__global__ void add_ghost_planes(float* next, const float* cur, const float* ghost, int planes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPlane) return;
  int last = (planes - 1) * kPlane + i;
  next[i] = cur[i] + 0.1f * (ghost[i] - cur[i]);
  next[last] = cur[last] + 0.1f * (ghost[kPlane + i] - cur[last]);
}

class Slab {
 public:
  explicit Slab(int planes) : planes_(planes) {
    CK(cudaMalloc(&cur_, bytes()));
    CK(cudaMalloc(&next_, bytes()));
    CK(cudaMalloc(&ghost_, 2 * kPlane * sizeof(float)));
    CK(cudaMalloc(&outbox_, 2 * kPlane * sizeof(float)));
    CK(cudaMemset(cur_, 0, bytes()));
    CK(cudaMemset(next_, 0, bytes()));
    CK(cudaMemset(ghost_, 0, 2 * kPlane * sizeof(float)));
    CK(cudaDeviceSynchronize());
  }
  ~Slab() {
    cudaDeviceSynchronize();
    for (float* p : {cur_, next_, ghost_, outbox_}) cudaFree(p);
  }
  Slab(const Slab&) = delete;

  void begin(cudaStream_t main) {
    CK(cudaEventRecord(forked_, main));
    for (cudaStream_t s : {cudaStream_t(interior_), cudaStream_t(send_), cudaStream_t(recv_)})
      CK(cudaStreamWaitEvent(s, forked_, 0));
    step_interior<<<(planes_ * kPlane + 255) / 256, 256, 0, interior_>>>(next_, cur_, planes_);
    pack_boundary<<<(kPlane + 255) / 256, 256, 0, send_>>>(outbox_, cur_, planes_);
    CK(cudaGetLastError());
    CK(cudaEventRecord(packed_, send_));
  }

  // side 0 takes the neighbour's last plane, side 1 its first one.
  void pull_neighbour(const Slab& from, int side) {
    CK(cudaStreamWaitEvent(recv_, from.packed_, 0));
    const float* src = from.outbox_ + (side == 0 ? kPlane : 0);
    CK(cudaMemcpyAsync(ghost_ + side * kPlane, src, kPlane * sizeof(float), cudaMemcpyDeviceToDevice, recv_));
  }

  void finish(cudaStream_t main) {
    CK(cudaEventRecord(stepped_, interior_));
    CK(cudaStreamWaitEvent(main, stepped_, 0));
    CK(cudaStreamWaitEvent(main, packed_, 0));
    CK(cudaEventRecord(received_, recv_));
    CK(cudaStreamWaitEvent(main, received_, 0));
    apply_ghosts(main);
    std::swap(cur_, next_);
  }

 private:
  size_t bytes() const { return size_t(planes_) * kPlane * sizeof(float); }

  void apply_ghosts(cudaStream_t main) {
    add_ghost_planes<<<(kPlane + 255) / 256, 256, 0, main>>>(next_, cur_, ghost_, planes_);
    CK(cudaGetLastError());
  }

  int planes_;
  float *cur_ = nullptr, *next_ = nullptr, *ghost_ = nullptr, *outbox_ = nullptr;
  Stream interior_, send_, recv_;
  Event forked_, packed_, stepped_, received_;
};

int main() {
  Stream main_stream;
  std::vector<std::unique_ptr<Slab>> slabs;
  for (int i = 0; i < 4; ++i) slabs.push_back(std::make_unique<Slab>(32));

  for (int step = 0; step < 200; ++step) {
    for (auto& s : slabs) s->begin(main_stream);
    for (size_t i = 0; i < slabs.size(); ++i) {
      if (i > 0) slabs[i]->pull_neighbour(*slabs[i - 1], 0);
      if (i + 1 < slabs.size()) slabs[i]->pull_neighbour(*slabs[i + 1], 1);
    }
    for (auto& s : slabs) s->finish(main_stream);
  }
  CK(cudaStreamSynchronize(main_stream));
  std::puts("done");
  return 0;
}
