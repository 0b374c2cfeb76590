// Diffusion tractography: seeds are traced on several streams and gathered into one density map.
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace tract {

inline void gpu_ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void trace(const float3* field, const int* seeds, int* cells, int n, int voxels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = seeds[i];
  for (int s = 0; s < 200; ++s) {
    float3 d = field[v];
    v = min(max(v + static_cast<int>(d.x + 64.f * d.y + 4096.f * d.z), 0), voxels - 1);
  }
  cells[i] = v;
}

__global__ void splat(const int* cells, unsigned* density, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&density[cells[i]], 1u);
}

class Worker {
 public:
  explicit Worker(int capacity) {
    gpu_ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    gpu_ok(cudaMalloc(&seeds_, capacity * sizeof(int)));
    gpu_ok(cudaMalloc(&cells_, capacity * sizeof(int)));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaFree(cells_);
    cudaFree(seeds_);
    cudaStreamDestroy(stream_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(const int* host_seeds, int n, const float3* field, int voxels) {
    count_ = n;
    gpu_ok(cudaMemcpyAsync(seeds_, host_seeds, n * sizeof(int), cudaMemcpyHostToDevice, stream_));
    trace<<<(n + 63) / 64, 64, 0, stream_>>>(field, seeds_, cells_, n, voxels);
    gpu_ok(cudaGetLastError());
  }
  cudaStream_t stream() const { return stream_; }
  const int* cells() const { return cells_; }
  int count() const { return count_; }

 private:
  cudaStream_t stream_{};
  int *seeds_ = nullptr, *cells_ = nullptr;
  int count_ = 0;
};

// Orders one stream behind another. A wait keeps the state the event had at the call, so a single
// event serves any number of links.
class Link {
 public:
  Link() { gpu_ok(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Link() { cudaEventDestroy(event_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void operator()(cudaStream_t before, cudaStream_t after) {
    gpu_ok(cudaEventRecord(event_, before));
    gpu_ok(cudaStreamWaitEvent(after, event_, 0));
  }

 private:
  cudaEvent_t event_{};
};

class DensityMap {
 public:
  DensityMap(int workers, int capacity, int voxels) : voxels_(voxels), capacity_(capacity) {
    gpu_ok(cudaStreamCreateWithFlags(&gather_, cudaStreamNonBlocking));
    gpu_ok(cudaMalloc(&density_, voxels_ * sizeof(unsigned)));
    gpu_ok(cudaMemsetAsync(density_, 0, voxels_ * sizeof(unsigned), gather_));
    for (int i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(capacity));
  }
  ~DensityMap() {
    cudaStreamSynchronize(gather_);
    cudaFree(density_);
    cudaStreamDestroy(gather_);
  }
  DensityMap(const DensityMap&) = delete;
  DensityMap& operator=(const DensityMap&) = delete;

  // field: device memory, filled; seeds: page-locked, unchanged until read().
  void add(const float3* field, const int* seeds, int n) {
    for (int at = 0; at < n;) {
      for (auto& w : workers_) {
        int m = n - at < capacity_ ? n - at : capacity_;
        if (m <= 0) break;
        w->run(seeds + at, m, field, voxels_);
        link_(w->stream(), gather_);
        at += m;
        collect(*w);
      }
      // The workers' cell lists are filled again in the next round.
      for (auto& w : workers_) link_(gather_, w->stream());
    }
  }

  std::vector<unsigned> read() {
    std::vector<unsigned> out(voxels_);
    gpu_ok(cudaStreamSynchronize(gather_));
    gpu_ok(cudaMemcpy(out.data(), density_, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  void collect(const Worker& w) {
    splat<<<(w.count() + 127) / 128, 128, 0, gather_>>>(w.cells(), density_, w.count());
    gpu_ok(cudaGetLastError());
  }

  int voxels_, capacity_;
  cudaStream_t gather_{};
  unsigned* density_ = nullptr;
  Link link_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tract
