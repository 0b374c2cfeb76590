// plasma-chain: one-dimensional particle-in-cell benchmark. The three short
// kernels of a step are chained with programmatic dependent launches to hide
// the launch latency.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void pc(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "plasma-chain:%d: %s\n", line, cudaGetErrorString(rc));
    std::exit(1);
  }
}
#define PC(x) pc((x), __LINE__)

constexpr int kCells = 1 << 16;
constexpr int kPerCell = 32;
constexpr int kParticles = kCells * kPerCell;

struct Stencil {
  float left, mid, right;
};

__device__ inline int wrap(int cell) { return cell < 0 ? cell + kCells : (cell >= kCells ? cell - kCells : cell); }

__device__ inline Stencil gather(const float* grid, int cell) {
  return {grid[wrap(cell - 1)], grid[cell], grid[wrap(cell + 1)]};
}

// Charge of the particles of each cell, as the sum of their weights.
__global__ void deposit(const float* position, float* charge) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int k = 0; k < kPerCell; ++k) {
    const float x = position[cell * kPerCell + k];
    sum += 1.f - fabsf(x - floorf(x) - 0.5f);
  }
  charge[cell] = sum;
}

__global__ void solve(const float* charge, float* field, float damping) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  const Stencil s = gather(charge, cell);
  field[cell] = damping * (s.right - s.left) - 0.01f * s.mid;
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void push(const float* field, float* position, float* velocity, float dt) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  const Stencil e = gather(field, cell);
  for (int k = 0; k < kPerCell; ++k) {
    const int p = cell * kPerCell + k;
    const float v = velocity[p] + dt * (0.25f * e.left + 0.5f * e.mid + 0.25f * e.right);
    velocity[p] = v;
    position[p] += dt * v;
  }
}

template <typename... Params, typename... Args>
void chain(cudaStream_t stream, void (*kernel)(Params...), Args&&... args) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kCells / 256);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  PC(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

struct Plasma {
  float* position = nullptr;
  float* velocity = nullptr;
  float* charge = nullptr;
  float* field = nullptr;
};

void step(const Plasma& p, float dt, cudaStream_t stream) {
  deposit<<<kCells / 256, 256, 0, stream>>>(p.position, p.charge);
  PC(cudaGetLastError());
  chain(stream, solve, p.charge, p.field, 0.5f);
  chain(stream, push, p.field, p.position, p.velocity, dt);
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1000;
  cudaStream_t stream;
  PC(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Plasma p;
  PC(cudaMalloc(&p.position, kParticles * sizeof(float)));
  PC(cudaMalloc(&p.velocity, kParticles * sizeof(float)));
  PC(cudaMalloc(&p.charge, kCells * sizeof(float)));
  PC(cudaMalloc(&p.field, kCells * sizeof(float)));

  std::vector<float> start(kParticles);
  for (int i = 0; i < kParticles; ++i) start[i] = static_cast<float>(i % 97) / 97.f;
  PC(cudaMemcpyAsync(p.position, start.data(), kParticles * sizeof(float), cudaMemcpyHostToDevice, stream));
  PC(cudaMemsetAsync(p.velocity, 0, kParticles * sizeof(float), stream));

  for (int i = 0; i < steps; ++i) step(p, 1e-3f, stream);

  std::vector<float> field(kCells);
  PC(cudaMemcpyAsync(field.data(), p.field, kCells * sizeof(float), cudaMemcpyDeviceToHost, stream));
  PC(cudaStreamSynchronize(stream));
  double energy = 0.0;
  for (float e : field) energy += static_cast<double>(e) * e;
  std::printf("field energy after %d steps: %.6e\n", steps, energy);

  for (float* a : {p.position, p.velocity, p.charge, p.field}) PC(cudaFree(a));
  PC(cudaStreamDestroy(stream));
  return 0;
}
