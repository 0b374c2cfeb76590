#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <vector>

// N-body propagation of small bodies; the catalogue is sharded over the GPUs of a node
// and the perturbing planets are integrated on the first one.
namespace orbit {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct DeviceScope {
  explicit DeviceScope(int device) {
    ok(cudaGetDevice(&previous_));
    ok(cudaSetDevice(device));
  }
  ~DeviceScope() { cudaSetDevice(previous_); }
  int previous_ = 0;
};

__global__ void advance_planets(float4* planets, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    planets[i].x += dt * planets[i].w * -planets[i].y;
    planets[i].y += dt * planets[i].w * planets[i].x;
  }
}

__global__ void accelerate_kernel(const float4* planets, int n_planets, float3* pos, float3* vel,
                                  int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 a = make_float3(0.f, 0.f, 0.f);
  for (int p = 0; p < n_planets; ++p) {
    const float dx = planets[p].x - pos[i].x, dy = planets[p].y - pos[i].y;
    const float dz = planets[p].z - pos[i].z;
    const float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f);
    const float s = planets[p].w * inv * inv * inv;
    a.x += s * dx; a.y += s * dy; a.z += s * dz;
  }
  vel[i].x += dt * a.x; vel[i].y += dt * a.y; vel[i].z += dt * a.z;
  pos[i].x += dt * vel[i].x; pos[i].y += dt * vel[i].y; pos[i].z += dt * vel[i].z;
}

struct Shard {
  Shard(int dev, int n_planets, int n_bodies) : device(dev), bodies(n_bodies) {
    DeviceScope scope(device);
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&stepped, cudaEventDisableTiming));
    ok(cudaMalloc(&planets, n_planets * sizeof(float4)));
    ok(cudaMalloc(&pos, bodies * sizeof(float3)));
    ok(cudaMalloc(&vel, bodies * sizeof(float3)));
    ok(cudaMemsetAsync(planets, 0, n_planets * sizeof(float4), stream));
    ok(cudaMemsetAsync(pos, 0, bodies * sizeof(float3), stream));
    ok(cudaMemsetAsync(vel, 0, bodies * sizeof(float3), stream));
    ok(cudaStreamSynchronize(stream));
  }
  ~Shard() {
    DeviceScope scope(device);
    cudaDeviceSynchronize();
    cudaFree(vel);
    cudaFree(pos);
    cudaFree(planets);
    cudaEventDestroy(stepped);
    cudaEventDestroy(copied);
    cudaStreamDestroy(stream);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  int device;
  int bodies;
  cudaStream_t stream = nullptr;
  cudaEvent_t copied = nullptr;   // on the root device: planets have arrived here
  cudaEvent_t stepped = nullptr;  // this shard no longer reads its planets
  float4* planets = nullptr;
  float3* pos = nullptr;
  float3* vel = nullptr;
};

class Propagator {
 public:
  Propagator(int devices, int n_planets, int bodies_per_shard) : n_planets_(n_planets) {
    for (int d = 0; d < devices; ++d)
      shards_.push_back(std::make_unique<Shard>(d, n_planets, bodies_per_shard));
    DeviceScope scope(0);
    for (auto& s : shards_) ok(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming));
  }

  ~Propagator() {
    for (auto& s : shards_) {
      DeviceScope scope(s->device);
      cudaDeviceSynchronize();
    }
  }

  void step(float dt) {
    Shard& root = *shards_.front();
    {
      DeviceScope scope(root.device);
      advance_planets<<<(n_planets_ + 63) / 64, 64, 0, root.stream>>>(root.planets, n_planets_, dt);
      ok(cudaGetLastError());
    }
    for (size_t i = 1; i < shards_.size(); ++i) replicate(root, *shards_[i]);
    for (auto& s : shards_) kick(*s, dt);
  }

 private:
  void replicate(Shard& from, Shard& to) {
    DeviceScope scope(from.device);
    ok(cudaStreamWaitEvent(from.stream, to.stepped, 0));
    ok(cudaMemcpyPeerAsync(to.planets, to.device, from.planets, from.device,
                           n_planets_ * sizeof(float4), from.stream));
    ok(cudaEventRecord(to.copied, from.stream));
    ok(cudaStreamWaitEvent(to.stream, to.copied, 0));
  }

  void kick(Shard& s, float dt) {
    DeviceScope scope(s.device);
    accelerate_kernel<<<(s.bodies + 127) / 128, 128, 0, s.stream>>>(s.planets, n_planets_, s.pos,
                                                                    s.vel, s.bodies, dt);
    ok(cudaGetLastError());
    ok(cudaEventRecord(s.stepped, s.stream));
  }

  int n_planets_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace orbit
