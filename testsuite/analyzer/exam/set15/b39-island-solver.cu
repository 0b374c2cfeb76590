// Rigid body islands: bodies that touch form an island, islands do not interact and are solved side by side, each on its own
// stream. Solver settings differ between islands (a pile of crates needs more iterations than a rolling ball).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define ISL_CHECK(call)                                                                     \
  do {                                                                                      \
    const cudaError_t rc_ = (call);                                                         \
    if (rc_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc_));                     \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

struct SolverSettings {
  float dt;
  float damping;
  float restitution;
  int iterations;
};

__constant__ SolverSettings c_settings;

__global__ void solve_contacts(float4* velocity, const float4* normal, int bodies) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= bodies) return;
  float4 v = velocity[i];
  for (int it = 0; it < c_settings.iterations; ++it) {
    const float into = v.x * normal[i].x + v.y * normal[i].y + v.z * normal[i].z;
    if (into < 0.f) {
      const float push = -(1.f + c_settings.restitution) * into;
      v.x += push * normal[i].x;
      v.y += push * normal[i].y;
      v.z += push * normal[i].z;
    }
    v.y -= 9.81f * c_settings.dt / c_settings.iterations;
  }
  v.x *= c_settings.damping;
  v.y *= c_settings.damping;
  v.z *= c_settings.damping;
  velocity[i] = v;
}

class Island {
 public:
  Island(int bodies, const SolverSettings& settings) : bodies_(bodies) {
    ISL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ISL_CHECK(cudaMalloc(&velocity_, bodies * sizeof(float4)));
    ISL_CHECK(cudaMalloc(&normal_, bodies * sizeof(float4)));
    ISL_CHECK(cudaMemsetAsync(velocity_, 0, bodies * sizeof(float4), stream_));
    ISL_CHECK(cudaMemsetAsync(normal_, 0, bodies * sizeof(float4), stream_));
    ISL_CHECK(cudaMallocHost(&settings_, sizeof(SolverSettings)));
    *settings_ = settings;
  }
  ~Island() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(settings_);
    cudaFree(normal_);
    cudaFree(velocity_);
    cudaStreamDestroy(stream_);
  }
  Island(const Island&) = delete;
  Island& operator=(const Island&) = delete;

  void step() {
    apply_settings();
    solve_contacts<<<(bodies_ + 127) / 128, 128, 0, stream_>>>(velocity_, normal_, bodies_);
    ISL_CHECK(cudaGetLastError());
  }

  void wait() { ISL_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  void apply_settings() {
    ISL_CHECK(cudaMemcpyToSymbolAsync(c_settings, settings_, sizeof(SolverSettings), 0, cudaMemcpyHostToDevice, stream_));
  }

  int bodies_;
  SolverSettings* settings_ = nullptr;
  float4* velocity_ = nullptr;
  float4* normal_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

class World {
 public:
  void add(int bodies, const SolverSettings& settings) { islands_.push_back(std::make_unique<Island>(bodies, settings)); }

  void step() {
    for (auto& island : islands_) island->step();
    for (auto& island : islands_) island->wait();
  }

 private:
  std::vector<std::unique_ptr<Island>> islands_;
};

int main() {
  World world;
  world.add(1 << 18, {1.f / 120, 0.99f, 0.1f, 64});
  world.add(1 << 10, {1.f / 60, 0.999f, 0.8f, 4});
  for (int frame = 0; frame < 600; ++frame) world.step();
  std::puts("600 frames");
  return 0;
}
