#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstdint>

namespace sph {

struct GridSpec {
  float cell;
  int nx, ny, nz;
};

__global__ void compute_keys(const float4* pos, std::uint32_t* keys, int n, GridSpec g) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int cx = min(max(int(pos[i].x / g.cell), 0), g.nx - 1);
  const int cy = min(max(int(pos[i].y / g.cell), 0), g.ny - 1);
  const int cz = min(max(int(pos[i].z / g.cell), 0), g.nz - 1);
  keys[i] = (cz * g.ny + cy) * g.nx + cx;
}

__global__ void reorder(const float4* in, const int* order, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[order[i]];
}

class CellList {
 public:
  CellList(int capacity, GridSpec grid) : grid_(grid) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&keys_, capacity * sizeof(std::uint32_t));
    cudaMalloc(&order_, capacity * sizeof(int));
    cudaMalloc(&sorted_, capacity * sizeof(float4));
  }
  ~CellList() {
    cudaStreamSynchronize(stream_);
    cudaFree(sorted_);
    cudaFree(order_);
    cudaFree(keys_);
    cudaStreamDestroy(stream_);
  }

  void update(const float4* pos, int n) {
    assign_cells(pos, n);
    sort_particles(n);
    reorder<<<blocks(n), kBlock, 0, stream_>>>(pos, order_, sorted_, n);
  }

  const float4* wait() {
    cudaStreamSynchronize(stream_);
    return sorted_;
  }

 private:
  static constexpr int kBlock = 192;
  static int blocks(int n) { return (n + kBlock - 1) / kBlock; }

  void assign_cells(const float4* pos, int n) {
    compute_keys<<<blocks(n), kBlock, 0, stream_>>>(pos, keys_, n, grid_);
    thrust::sequence(thrust::cuda::par.on(stream_), order_, order_ + n);
  }

  void sort_particles(int n) {
    thrust::device_ptr<std::uint32_t> k(keys_);
    thrust::device_ptr<int> v(order_);
    thrust::sort_by_key(thrust::device, k, k + n, v);
  }

  GridSpec grid_;
  cudaStream_t stream_ = nullptr;
  std::uint32_t* keys_ = nullptr;
  int* order_ = nullptr;
  float4* sorted_ = nullptr;
};

}  // namespace sph
