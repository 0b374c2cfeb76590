// Soft-sphere relaxation. The three kernels of a step are chained with programmatic dependent launch
// so that the launch latency of one hides behind the tail of the previous one.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(call)                                                                          \
  do {                                                                                    \
    const cudaError_t err = (call);                                                       \
    if (err != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err));    \
      std::exit(2);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kBlock = 128;
constexpr int kTable = 1024;

__global__ void pairForces(const float4* pos, float4* force, int n) {
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 p = pos[i];
  float4 f = make_float4(0.f, 0.f, 0.f, 0.f);
  for (int j = 0; j < n; ++j) {
    const float4 q = pos[j];
    const float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
    const float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
    if (r2 >= 1.f) continue;
    const float s = (1.f - r2) * rsqrtf(r2);
    f.x += s * dx;
    f.y += s * dy;
    f.z += s * dz;
  }
  force[i] = f;
}

// Velocity dependent damping, depends on the step number only.
__global__ void brakeTable(float* table, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i * (4.f / kTable);
  const float b = expf(-v * v / (1.f + 0.01f * step));
  cudaGridDependencySynchronize();
  if (i < kTable) table[i] = b;
}

__global__ void integrate(float4* pos, const float4* force, const float* table, float dt, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  if (i >= n) return;
  const float4 f = force[i];
  const float mag = sqrtf(f.x * f.x + f.y * f.y + f.z * f.z);
  const float b = table[min(static_cast<int>(mag * (kTable / 4)), kTable - 1)];
  float4 p = pos[i];
  p.x += dt * b * f.x;
  p.y += dt * b * f.y;
  p.z += dt * b * f.z;
  pos[i] = p;
}

template <typename... Params, typename... Args>
void launchChained(cudaStream_t stream, int threads, void (*kernel)(Params...), Args&&... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3((threads + kBlock - 1) / kBlock);
  cfg.blockDim = dim3(kBlock);
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  CK(cudaLaunchKernelEx(&cfg, kernel, static_cast<Params>(std::forward<Args>(args))...));
}

struct Packing {
  int n = 0;
  float4* pos = nullptr;
  float4* force = nullptr;
  float* table = nullptr;
  cudaStream_t stream = nullptr;
};

Packing create(const std::vector<float4>& start) {
  Packing s;
  s.n = static_cast<int>(start.size());
  CK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  CK(cudaMalloc(&s.pos, start.size() * sizeof(float4)));
  CK(cudaMalloc(&s.force, start.size() * sizeof(float4)));
  CK(cudaMalloc(&s.table, kTable * sizeof(float)));
  CK(cudaMemcpyAsync(s.pos, start.data(), start.size() * sizeof(float4), cudaMemcpyHostToDevice, s.stream));
  CK(cudaStreamSynchronize(s.stream));
  return s;
}

void relaxStep(Packing& s, int step, float dt) {
  launchChained(s.stream, s.n, pairForces, s.pos, s.force, s.n);
  launchChained(s.stream, kTable, brakeTable, s.table, step);
  launchChained(s.stream, s.n, integrate, s.pos, s.force, s.table, dt, s.n);
}

std::vector<float4> download(const Packing& s) {
  std::vector<float4> out(s.n);
  CK(cudaMemcpyAsync(out.data(), s.pos, s.n * sizeof(float4), cudaMemcpyDeviceToHost, s.stream));
  CK(cudaStreamSynchronize(s.stream));
  return out;
}

void destroy(Packing& s) {
  CK(cudaStreamSynchronize(s.stream));
  CK(cudaFree(s.pos));
  CK(cudaFree(s.force));
  CK(cudaFree(s.table));
  CK(cudaStreamDestroy(s.stream));
}

int main() {
  std::vector<float4> start(8192);
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = make_float4((i % 20) * 0.7f, (i / 20 % 20) * 0.7f, (i / 400) * 0.7f, 0.f);
  Packing s = create(start);
  for (int step = 0; step < 500; ++step) relaxStep(s, step, 1e-3f);
  const std::vector<float4> end = download(s);
  std::printf("particle 0: %g %g %g\n", end[0].x, end[0].y, end[0].z);
  destroy(s);
  return 0;
}
