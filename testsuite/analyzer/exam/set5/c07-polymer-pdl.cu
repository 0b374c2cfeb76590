// Bead-spring chain: bond forces, bending forces and the update step follow one another
// closely, so each launch may start while its predecessor drains.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); std::abort(); } } while (0)

struct Chain {
  float3* pos;
  float3* force;
  const float* mass_inv;
  int n;
};

__device__ inline float3 sub(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 axpy(float s, float3 a, float3 b) { return make_float3(s * a.x + b.x, s * a.y + b.y, s * a.z + b.z); }

__global__ void bond_force(Chain c, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  if (i >= c.n) return;
  float3 f = make_float3(0.f, 0.f, 0.f);
  if (i > 0) f = axpy(k, sub(c.pos[i - 1], c.pos[i]), f);
  if (i + 1 < c.n) f = axpy(k, sub(c.pos[i + 1], c.pos[i]), f);
  c.force[i] = f;
}

__global__ void bend_force(Chain c, float k) {
  cudaTriggerProgrammaticLaunchCompletion();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float scale = k / (1.f + 1e-6f * i);
  cudaGridDependencySynchronize();
  if (i < 1 || i + 1 >= c.n) return;
  float3 mid = axpy(0.5f, c.pos[i - 1], make_float3(0.5f * c.pos[i + 1].x, 0.5f * c.pos[i + 1].y, 0.5f * c.pos[i + 1].z));
  c.force[i] = axpy(scale, sub(mid, c.pos[i]), c.force[i]);
}

__global__ void update(Chain c, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float w = i < c.n ? dt * c.mass_inv[i] : 0.f;
  cudaGridDependencySynchronize();
  if (i < c.n) c.pos[i] = axpy(w, c.force[i], c.pos[i]);
}

class Launcher {
 public:
  explicit Launcher(cudaStream_t s) {
    attr_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr_.val.programmaticStreamSerializationAllowed = 1;
    cfg_.stream = s;
    cfg_.attrs = &attr_;
    cfg_.numAttrs = 1;
    cfg_.blockDim = dim3(128);
  }
  Launcher(const Launcher&) = delete;
  void go(void (*kernel)(Chain, float), Chain c, float arg) {
    cfg_.gridDim = dim3((c.n + 127) / 128);
    CK(cudaLaunchKernelEx(&cfg_, kernel, c, arg));
  }

 private:
  cudaLaunchAttribute attr_{};
  cudaLaunchConfig_t cfg_{};
};

static void integrate(Chain c, cudaStream_t s, int steps) {
  Launcher l(s);
  for (int t = 0; t < steps; ++t) {
    l.go(bond_force, c, 50.f);
    l.go(bend_force, c, 5.f);
    l.go(update, c, 1e-4f);
  }
}

int main() {
  const int n = 1 << 19;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  Chain c{};
  float* minv = nullptr;
  c.n = n;
  CK(cudaMalloc(&c.pos, sizeof(float3) * n));
  CK(cudaMalloc(&c.force, sizeof(float3) * n));
  CK(cudaMalloc(&minv, sizeof(float) * n));
  c.mass_inv = minv;
  std::vector<float3> p(n);
  std::vector<float> m(n, 1.f);
  for (int i = 0; i < n; ++i) p[i] = make_float3(i * 0.9f, (i % 3) * 0.1f, 0.f);
  CK(cudaMemcpyAsync(c.pos, p.data(), sizeof(float3) * n, cudaMemcpyHostToDevice, s));
  CK(cudaMemcpyAsync(minv, m.data(), sizeof(float) * n, cudaMemcpyHostToDevice, s));
  CK(cudaStreamSynchronize(s));
  integrate(c, s, 1000);
  CK(cudaMemcpyAsync(p.data(), c.pos, sizeof(float3) * n, cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  std::printf("end bead %f %f %f\n", p[n - 1].x, p[n - 1].y, p[n - 1].z);
  cudaFree(minv);
  cudaFree(c.force);
  cudaFree(c.pos);
  cudaStreamDestroy(s);
}
