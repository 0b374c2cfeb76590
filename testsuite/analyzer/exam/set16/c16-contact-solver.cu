// Rigid-body contact solver; the sweeps of one step are launched as dependents of each other.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define PHYS_CHECK(e)                                                                     \
  do {                                                                                    \
    cudaError_t rc = (e);                                                                 \
    if (rc != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));     \
      std::abort();                                                                       \
    }                                                                                     \
  } while (0)

namespace physics {

struct Params {
  int bodies;
  float dt;
  float relaxation;
};

__device__ __forceinline__ void waitForPrimary() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void releaseSecondary() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__global__ void integrate(const float* force, float* velocity, Params p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  waitForPrimary();
  releaseSecondary();
  if (i < p.bodies) velocity[i] += p.dt * force[i];
}

__global__ void relaxContacts(const float* velocity, float* impulse, Params p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // Index arithmetic only: everything read below belongs to the grid in front.
  const int left = i > 0 ? i - 1 : p.bodies - 1;
  const int right = i + 1 < p.bodies ? i + 1 : 0;
  waitForPrimary();
  releaseSecondary();
  if (i < p.bodies) impulse[i] = p.relaxation * (velocity[left] - 2.f * velocity[i] + velocity[right]);
}

__global__ void applyImpulses(float* velocity, const float* impulse, Params p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  waitForPrimary();
  releaseSecondary();
  if (i < p.bodies) velocity[i] += impulse[i];
}

// Launch policy: whether a grid may be scheduled before the grid in front has ended.
struct Overlapped {
  static constexpr int kAllowed = 1;
};
struct Serial {
  static constexpr int kAllowed = 0;
};

template <class Policy, class... Params_, class... Args>
void launch(cudaStream_t stream, int n, void (*kernel)(Params_...), Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = Policy::kAllowed;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((n + 127) / 128);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  PHYS_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class World {
 public:
  explicit World(int bodies) : params_{bodies, 1e-3f, 0.2f} {
    PHYS_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (float** p : {&force_, &velocity_, &impulse_}) {
      PHYS_CHECK(cudaMalloc(p, bodies * sizeof(float)));
      PHYS_CHECK(cudaMemsetAsync(*p, 0, bodies * sizeof(float), stream_));
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    cudaStreamSynchronize(stream_);
    for (float* p : {force_, velocity_, impulse_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }

  void setForces(const std::vector<float>& host) {
    PHYS_CHECK(cudaMemcpyAsync(force_, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    PHYS_CHECK(cudaStreamSynchronize(stream_));
  }

  void step(int sweeps) {
    launch<Serial>(stream_, params_.bodies, integrate, static_cast<const float*>(force_), velocity_, params_);
    for (int s = 0; s < sweeps; ++s) {
      launch<Overlapped>(stream_, params_.bodies, relaxContacts, static_cast<const float*>(velocity_), impulse_, params_);
      launch<Overlapped>(stream_, params_.bodies, applyImpulses, velocity_, static_cast<const float*>(impulse_), params_);
    }
  }

  float velocityOf(int body) {
    float v = 0.f;
    PHYS_CHECK(cudaMemcpyAsync(&v, velocity_ + body, sizeof v, cudaMemcpyDeviceToHost, stream_));
    PHYS_CHECK(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  Params params_;
  cudaStream_t stream_{};
  float *force_ = nullptr, *velocity_ = nullptr, *impulse_ = nullptr;
};

}  // namespace physics

int main() {
  physics::World world(1 << 18);
  std::vector<float> force(1 << 18, 0.f);
  for (int frame = 0; frame < 10; ++frame) {
    force[frame] = 1.f;
    world.setForces(force);
    world.step(8);
  }
  std::printf("v = %g\n", world.velocityOf(3));
  return 0;
}
