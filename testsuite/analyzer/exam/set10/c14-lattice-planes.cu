// Lattice-Boltzmann slabs on several devices of one process. Every device owns a slab and
// pushes its border planes into the ghost planes of its neighbours.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define LB_CHECK(x)                                                        \
  do {                                                                     \
    const cudaError_t lb_rc = (x);                                         \
    if (lb_rc != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(lb_rc));     \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

namespace lattice {

constexpr int kPlane = 256 * 256;
constexpr int kPlanes = 64;  // without ghosts
constexpr std::size_t kSlabBytes = sizeof(float) * kPlane * (kPlanes + 2);

__global__ void relax(const float* __restrict__ f, float* __restrict__ g, float omega) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int z = blockIdx.y + 1;
  if (i >= kPlane) return;
  const float below = f[(z - 1) * kPlane + i];
  const float here = f[z * kPlane + i];
  const float above = f[(z + 1) * kPlane + i];
  g[z * kPlane + i] = here + omega * (0.5f * (below + above) - here);
}

class Slab {
 public:
  explicit Slab(int device) : device_(device) {
    LB_CHECK(cudaSetDevice(device_));
    LB_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LB_CHECK(cudaEventCreateWithFlags(&relaxed_, cudaEventDisableTiming));
    LB_CHECK(cudaEventCreateWithFlags(&pushed_, cudaEventDisableTiming));
    for (float*& f : field_) {
      LB_CHECK(cudaMalloc(&f, kSlabBytes));
      LB_CHECK(cudaMemsetAsync(f, 0, kSlabBytes, stream_));
    }
    LB_CHECK(cudaStreamSynchronize(stream_));
  }
  ~Slab() {
    cudaSetDevice(device_);
    for (float* f : field_) cudaFree(f);
    cudaEventDestroy(pushed_);
    cudaEventDestroy(relaxed_);
    cudaStreamDestroy(stream_);
  }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  // Fills the first interior plane of the current field.
  void excite(const std::vector<float>& plane) {
    LB_CHECK(cudaSetDevice(device_));
    LB_CHECK(cudaMemcpyAsync(current() + kPlane, plane.data(), sizeof(float) * kPlane,
                             cudaMemcpyHostToDevice, stream_));
    LB_CHECK(cudaStreamSynchronize(stream_));
  }

  void step(float omega) {
    LB_CHECK(cudaSetDevice(device_));
    relax<<<dim3(kPlane / 256, kPlanes), 256, 0, stream_>>>(current(), other(), omega);
    LB_CHECK(cudaGetLastError());
    phase_ ^= 1;
    LB_CHECK(cudaEventRecord(relaxed_, stream_));
  }

  // Sends both borders of the field that step() has just made.
  void push(Slab* below, Slab* above) {
    LB_CHECK(cudaSetDevice(device_));
    if (below) send(*below, current() + kPlane, below->current() + (kPlanes + 1) * kPlane);
    if (above) send(*above, current() + kPlanes * kPlane, above->current());
    LB_CHECK(cudaEventRecord(pushed_, stream_));
  }

  // The ghosts of this slab come from its neighbours' pushes.
  void await(const Slab* neighbour) {
    if (neighbour) LB_CHECK(cudaStreamWaitEvent(stream_, neighbour->pushed_, 0));
  }

  void finish() const { LB_CHECK(cudaStreamSynchronize(stream_)); }

  double mass() const {
    LB_CHECK(cudaSetDevice(device_));
    std::vector<float> host(static_cast<std::size_t>(kPlane) * kPlanes);
    LB_CHECK(cudaMemcpyAsync(host.data(), field_[phase_] + kPlane, host.size() * sizeof(float),
                             cudaMemcpyDeviceToHost, stream_));
    LB_CHECK(cudaStreamSynchronize(stream_));
    double m = 0.0;
    for (float v : host) m += v;
    return m;
  }

 private:
  float* current() const { return field_[phase_]; }
  float* other() const { return field_[phase_ ^ 1]; }

  void send(const Slab& to, const float* from, float* ghost) {
    // The receiver must be through with the step that still used this buffer as its output.
    LB_CHECK(cudaStreamWaitEvent(stream_, to.relaxed_, 0));
    LB_CHECK(cudaMemcpyPeerAsync(ghost, to.device_, from, device_, sizeof(float) * kPlane, stream_));
  }

  int device_;
  int phase_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t relaxed_ = nullptr;
  cudaEvent_t pushed_ = nullptr;
  float* field_[2] = {};
};

class Domain {
 public:
  explicit Domain(int devices) {
    for (int d = 0; d < devices; ++d) slabs_.push_back(std::make_unique<Slab>(d));
  }
  ~Domain() { finish(); }

  void excite(const std::vector<float>& plane) { slabs_.front()->excite(plane); }
  void step(float omega) {
    for (auto& s : slabs_) s->step(omega);
    for (std::size_t d = 0; d < slabs_.size(); ++d) slabs_[d]->push(at(d, -1), at(d, +1));
    for (std::size_t d = 0; d < slabs_.size(); ++d) {
      slabs_[d]->await(at(d, -1));
      slabs_[d]->await(at(d, +1));
    }
  }
  void finish() const {
    for (const auto& s : slabs_) s->finish();
  }
  double mass() const {
    double m = 0.0;
    for (const auto& s : slabs_) m += s->mass();
    return m;
  }

 private:
  Slab* at(std::size_t d, int offset) const {
    const long n = static_cast<long>(d) + offset;
    return n < 0 || n >= static_cast<long>(slabs_.size()) ? nullptr : slabs_[n].get();
  }
  std::vector<std::unique_ptr<Slab>> slabs_;
};

}  // namespace lattice

int main() {
  int devices = 0;
  LB_CHECK(cudaGetDeviceCount(&devices));
  lattice::Domain domain(devices);
  domain.excite(std::vector<float>(lattice::kPlane, 1.f));
  for (int i = 0; i < 500; ++i) domain.step(0.8f);
  domain.finish();
  std::printf("mass %.3f\n", domain.mass());
}
