// Isosurface extraction: three dependent passes with overlapped prologues.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECKED(x)                                                             \
  do {                                                                         \
    cudaError_t c_ = (x);                                                      \
    if (c_ != cudaSuccess) {                                                   \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(c_));            \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

constexpr int kCell = 256;

struct CellInfo {
  int crossings;
  float mean;
};

__global__ void classify_cells(const float* field, CellInfo* cells, float iso) {
  __shared__ int crossings;
  __shared__ float sum;
  if (threadIdx.x == 0) {
    crossings = 0;
    sum = 0.f;
  }
  __syncthreads();
  cudaGridDependencySynchronize();
  const size_t v = size_t(blockIdx.x) * kCell + threadIdx.x;
  const float a = field[v];
  const float b = threadIdx.x + 1 < kCell ? field[v + 1] : a;
  if ((a < iso) != (b < iso)) atomicAdd(&crossings, 1);
  atomicAdd(&sum, a);
  __syncthreads();
  if (threadIdx.x == 0) cells[blockIdx.x] = {crossings, sum / kCell};
  __syncthreads();
  cudaTriggerProgrammaticLaunchCompletion();
}

// Holds pointers only; nothing is loaded before load().
class CellReader {
 public:
  __device__ CellReader(const CellInfo* cells, int index) : cell_(cells + index) {}
  __device__ CellInfo load() const { return *cell_; }

 private:
  const CellInfo* cell_;
};

__global__ void emit_vertices(const float* field, const CellInfo* cells, const float* table, float* vertices, float iso) {
  __shared__ float edge[64];
  const CellReader reader(cells, blockIdx.x);
  if (threadIdx.x < 64) edge[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  cudaGridDependencySynchronize();
  const CellInfo info = reader.load();
  const size_t v = size_t(blockIdx.x) * kCell + threadIdx.x;
  vertices[v] = info.crossings > 0 ? edge[info.crossings & 63] + (field[v] - iso) : info.mean;
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void relax_vertices(float* vertices) {
  __shared__ float tile[kCell];
  const size_t v = size_t(blockIdx.x) * kCell + threadIdx.x;
  cudaGridDependencySynchronize();
  tile[threadIdx.x] = vertices[v];
  __syncthreads();
  const int l = max(int(threadIdx.x) - 1, 0), r = min(int(threadIdx.x) + 1, kCell - 1);
  vertices[v] = 0.25f * tile[l] + 0.5f * tile[threadIdx.x] + 0.25f * tile[r];
}

class Extractor {
 public:
  Extractor(int cells, const std::vector<float>& table) : cells_(cells) {
    CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECKED(cudaMalloc(&field_, voxels() * sizeof(float)));
    CHECKED(cudaMalloc(&vertices_, voxels() * sizeof(float)));
    CHECKED(cudaMalloc(&info_, cells * sizeof(CellInfo)));
    CHECKED(cudaMalloc(&table_, 64 * sizeof(float)));
    CHECKED(cudaMemcpyAsync(table_, table.data(), 64 * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CHECKED(cudaStreamSynchronize(stream_));
  }
  ~Extractor() {
    cudaStreamSynchronize(stream_);
    cudaFree(table_);
    cudaFree(info_);
    cudaFree(vertices_);
    cudaFree(field_);
    cudaStreamDestroy(stream_);
  }
  Extractor(const Extractor&) = delete;
  Extractor& operator=(const Extractor&) = delete;

  std::vector<float> extract(const std::vector<float>& field, float iso) {
    std::vector<float> out(voxels());
    CHECKED(cudaMemcpyAsync(field_, field.data(), voxels() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    launch(classify_cells, (const float*)field_, info_, iso);
    launch(emit_vertices, (const float*)field_, (const CellInfo*)info_, (const float*)table_, vertices_, iso);
    launch(relax_vertices, vertices_);
    CHECKED(cudaMemcpyAsync(out.data(), vertices_, voxels() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    CHECKED(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  size_t voxels() const { return size_t(cells_) * kCell; }

  template <typename... P, typename... A>
  void launch(void (*kernel)(P...), A... args) {
    cudaLaunchAttribute attr{};
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(cells_);
    cfg.blockDim = dim3(kCell);
    cfg.stream = stream_;
    cfg.attrs = &attr;
    cfg.numAttrs = 1;
    CHECKED(cudaLaunchKernelEx(&cfg, kernel, args...));
  }

  int cells_;
  cudaStream_t stream_ = nullptr;
  float *field_ = nullptr, *vertices_ = nullptr, *table_ = nullptr;
  CellInfo* info_ = nullptr;
};

int main() {
  constexpr int kCells = 4096;
  std::vector<float> table(64), field(size_t(kCells) * kCell);
  for (int i = 0; i < 64; ++i) table[i] = 1.f / (1 + i);
  Extractor ex(kCells, table);
  float sum = 0;
  for (int frame = 0; frame < 10; ++frame) {
    for (size_t i = 0; i < field.size(); ++i) field[i] = float((i * 7 + frame * 13) % 101) / 101.f;
    sum += ex.extract(field, 0.5f)[frame];
  }
  std::printf("%f\n", sum);
  return 0;
}
