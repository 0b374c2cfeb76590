// Toy molecular dynamics step: bonded and short-range forces run on the main stream, the reciprocal-space part on a
// second one. All of them contribute to the same per-block energy accumulators.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_CUDA(x)                                                              \
  do {                                                                             \
    cudaError_t rc_ = (x);                                                         \
    if (rc_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s at line %d\n", cudaGetErrorString(rc_), __LINE__);  \
      std::exit(EXIT_FAILURE);                                                     \
    }                                                                              \
  } while (0)

constexpr int kThreads = 128;
constexpr int kSlots = 4096;  // energy accumulators

__global__ void place_atoms(float4* pos, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pos[i] = make_float4(i % 64, (i / 64) % 64, i / 4096, i % 2 ? 1.0f : -1.0f);
}

__global__ void bonded(const float4* pos, int n, float* energy) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0.0f;
  for (int i = slot; i + 1 < n; i += kSlots) {
    float dx = pos[i].x - pos[i + 1].x, dy = pos[i].y - pos[i + 1].y;
    e += 0.5f * (dx * dx + dy * dy);
  }
  energy[slot] += e;
}

__global__ void short_range(const float4* pos, int n, float* energy) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0.0f;
  for (int i = slot; i < n; i += kSlots)
    for (int k = 1; k <= 32; ++k) {
      int j = (i + k) % n;
      float dx = pos[i].x - pos[j].x, dy = pos[i].y - pos[j].y, dz = pos[i].z - pos[j].z;
      e += pos[i].w * pos[j].w * rsqrtf(dx * dx + dy * dy + dz * dz + 1.0f);
    }
  energy[slot] += e;
}

__global__ void spread_charges(const float4* pos, int n, float* grid, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&grid[(static_cast<int>(pos[i].x) * 131 + static_cast<int>(pos[i].y) * 7) % cells], pos[i].w);
}

__global__ void reciprocal(const float* grid, int cells, float* energy) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0.0f;
  for (int c = slot; c < cells; c += kSlots) e += 0.01f * grid[c] * grid[c];
  energy[slot] += e;
}

class Forces {
 public:
  explicit Forces(int atoms) : n_(atoms) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&mesh_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreateWithFlags(&mesh_done_, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&pos_, n_ * sizeof(float4)));
    CHECK_CUDA(cudaMalloc(&grid_, kCells * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&energy_, kSlots * sizeof(float)));
    place_atoms<<<(n_ + kThreads - 1) / kThreads, kThreads, 0, main_>>>(pos_, n_);
    CHECK_CUDA(cudaGetLastError());
  }
  ~Forces() {
    cudaStreamSynchronize(mesh_);
    cudaStreamSynchronize(main_);
    cudaFree(energy_);
    cudaFree(grid_);
    cudaFree(pos_);
    cudaEventDestroy(mesh_done_);
    cudaEventDestroy(start_);
    cudaStreamDestroy(mesh_);
    cudaStreamDestroy(main_);
  }

  double total_energy() {
    CHECK_CUDA(cudaMemsetAsync(energy_, 0, kSlots * sizeof(float), main_));
    CHECK_CUDA(cudaEventRecord(start_, main_));
    CHECK_CUDA(cudaStreamWaitEvent(mesh_, start_, 0));
    CHECK_CUDA(cudaMemsetAsync(grid_, 0, kCells * sizeof(float), mesh_));
    spread_charges<<<(n_ + kThreads - 1) / kThreads, kThreads, 0, mesh_>>>(pos_, n_, grid_, kCells);
    reciprocal<<<kSlots / kThreads, kThreads, 0, mesh_>>>(grid_, kCells, energy_);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(mesh_done_, mesh_));
    bonded<<<kSlots / kThreads, kThreads, 0, main_>>>(pos_, n_, energy_);
    short_range<<<kSlots / kThreads, kThreads, 0, main_>>>(pos_, n_, energy_);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaStreamWaitEvent(main_, mesh_done_, 0));
    return collect();
  }

 private:
  static constexpr int kCells = 1 << 18;

  double collect() {
    std::vector<float> parts(kSlots);
    CHECK_CUDA(cudaMemcpyAsync(parts.data(), energy_, kSlots * sizeof(float), cudaMemcpyDeviceToHost, main_));
    CHECK_CUDA(cudaStreamSynchronize(main_));
    double sum = 0.0;
    for (float p : parts) sum += p;
    return sum;
  }

  int n_;
  cudaStream_t main_ = nullptr;
  cudaStream_t mesh_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t mesh_done_ = nullptr;
  float4* pos_ = nullptr;
  float* grid_ = nullptr;
  float* energy_ = nullptr;
};

int main(int argc, char** argv) {
  Forces forces(argc > 1 ? std::atoi(argv[1]) : 100000);
  const double first = forces.total_energy();
  for (int i = 0; i < 50; ++i) {
    double e = forces.total_energy();
    if (e != first) std::printf("evaluation %d: %.9g instead of %.9g\n", i, e, first);
  }
  std::printf("energy %.9g\n", first);
  return 0;
}
