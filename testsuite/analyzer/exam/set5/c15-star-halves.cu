#include <cuda_runtime.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

// N-body star cluster. One position array; each of two lanes owns one half of it for writing the
// next state, forces are computed from the previous state by both.

namespace cluster {

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void operator>>(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw CudaError(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
struct DevFree {
  void operator()(T* p) const noexcept { cudaFree(p); }
};
template <typename T>
using DevPtr = std::unique_ptr<T[], DevFree<T>>;

template <typename T>
DevPtr<T> make_device(size_t n) {
  T* p = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)) >> "alloc";
  return DevPtr<T>(p);
}

__global__ void kick_drift(const float4* old, float4* now, float3* vel, int first, int count, int total, float dt) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int i = first + k;
  float4 p = old[i];
  float3 a = make_float3(0.f, 0.f, 0.f);
  for (int j = 0; j < total; ++j) {
    float4 q = old[j];
    float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
    float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
    float w = q.w * inv * inv * inv;
    a.x += w * dx;
    a.y += w * dy;
    a.z += w * dz;
  }
  float3 v = vel[i];
  v.x += dt * a.x;
  v.y += dt * a.y;
  v.z += dt * a.z;
  vel[i] = v;
  now[i] = make_float4(p.x + dt * v.x, p.y + dt * v.y, p.z + dt * v.z, p.w);
}

struct Lane {
  cudaStream_t stream{};
  cudaEvent_t advanced{};
  int first = 0, count = 0;

  Lane(int f, int c) : first(f), count(c) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) >> "stream";
    cudaEventCreateWithFlags(&advanced, cudaEventDisableTiming) >> "event";
  }
  ~Lane() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(advanced);
    cudaStreamDestroy(stream);
  }
  Lane(const Lane&) = delete;
};

class System {
 public:
  System(int n, const float4* start) : n_(n), a_(make_device<float4>(n)), b_(make_device<float4>(n)), vel_(make_device<float3>(n)) {
    cudaMemcpy(a_.get(), start, n * sizeof(float4), cudaMemcpyHostToDevice) >> "start";
    cudaMemset(vel_.get(), 0, n * sizeof(float3)) >> "vel";
    cudaDeviceSynchronize() >> "setup";
    lanes_.push_back(std::make_unique<Lane>(0, n / 2));
    lanes_.push_back(std::make_unique<Lane>(n / 2, n - n / 2));
  }

  void step(float dt) {
    for (auto& l : lanes_) launch(*l, dt);
    meet();
    std::swap(a_, b_);
  }

  std::vector<float4> positions() {
    std::vector<float4> out(n_);
    for (auto& l : lanes_)
      cudaMemcpyAsync(out.data() + l->first, a_.get() + l->first, l->count * sizeof(float4), cudaMemcpyDeviceToHost,
                      l->stream) >> "download";
    for (auto& l : lanes_) cudaStreamSynchronize(l->stream) >> "download";
    return out;
  }

 private:
  void launch(Lane& l, float dt) {
    kick_drift<<<(l.count + 127) / 128, 128, 0, l.stream>>>(a_.get(), b_.get(), vel_.get(), l.first, l.count, n_, dt);
    cudaGetLastError() >> "kick_drift";
    cudaEventRecord(l.advanced, l.stream) >> "record";
  }
  void meet() {
    for (auto& l : lanes_)
      for (auto& other : lanes_)
        if (other != l) cudaStreamWaitEvent(l->stream, other->advanced, 0) >> "wait";
  }

  int n_;
  DevPtr<float4> a_, b_;
  DevPtr<float3> vel_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace cluster

int main() {
  std::vector<float4> start(20000);
  for (size_t i = 0; i < start.size(); ++i) start[i] = make_float4(float(i % 27), float(i % 31), float(i % 37), 1e-4f);
  cluster::System s(int(start.size()), start.data());
  for (int i = 0; i < 50; ++i) s.step(1e-3f);
  std::printf("%f\n", s.positions().back().x);
}
