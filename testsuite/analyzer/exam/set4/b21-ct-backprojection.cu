// Filtered back-projection with a view-split accumulation. Each volume tile is
// produced by several blocks; the last one to arrive folds the partial sums.
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ct {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::abort();
  }
}

struct Geometry {
  int views;
  int detector;
  int tiles;
  int tileVoxels;
};

__global__ void backprojectSplit(const float* sino, const float* angles, Geometry g, int splits,
                                 float* partial, unsigned* arrived, float* volume) {
  const int tile = blockIdx.x;
  const int part = blockIdx.y;
  const int perSplit = (g.views + splits - 1) / splits;
  for (int v = threadIdx.x; v < g.tileVoxels; v += blockDim.x) {
    float acc = 0.f;
    for (int k = part * perSplit; k < min((part + 1) * perSplit, g.views); ++k) {
      const int s = static_cast<int>(__sinf(angles[k]) * v + 0.5f * g.detector);
      if (s >= 0 && s < g.detector) acc += sino[k * g.detector + s];
    }
    partial[(static_cast<size_t>(tile) * splits + part) * g.tileVoxels + v] = acc;
  }
  __threadfence();
  __syncthreads();
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicAdd(&arrived[tile], 1u) == static_cast<unsigned>(splits - 1);
  __syncthreads();
  if (!last) return;
  for (int v = threadIdx.x; v < g.tileVoxels; v += blockDim.x) {
    float sum = 0.f;
    for (int p = 0; p < splits; ++p)
      sum += partial[(static_cast<size_t>(tile) * splits + p) * g.tileVoxels + v];
    volume[static_cast<size_t>(tile) * g.tileVoxels + v] = sum;
  }
}

class SplitWorkspace {
 public:
  SplitWorkspace(const Geometry& g, int splits) : tiles_(g.tiles) {
    check(cudaMalloc(&partial_, sizeof(float) * g.tiles * splits * g.tileVoxels), "partial");
    check(cudaMalloc(&arrived_, sizeof(unsigned) * g.tiles), "arrived");
  }
  ~SplitWorkspace() {
    cudaFree(partial_);
    cudaFree(arrived_);
  }
  SplitWorkspace(const SplitWorkspace&) = delete;
  SplitWorkspace& operator=(const SplitWorkspace&) = delete;

  cudaError_t initialize(cudaStream_t stream) {
    if (tiles_ == 0) return cudaSuccess;
    return cudaMemsetAsync(arrived_, 0, sizeof(unsigned) * tiles_);
  }
  float* partial() const { return partial_; }
  unsigned* arrived() const { return arrived_; }

 private:
  int tiles_;
  float* partial_ = nullptr;
  unsigned* arrived_ = nullptr;
};

class Reconstructor {
 public:
  Reconstructor(Geometry g, int splits) : geo_(g), splits_(splits), ws_(g, splits) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&volume_, sizeof(float) * g.tiles * g.tileVoxels), "volume");
  }
  ~Reconstructor() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFree(volume_);
  }

  void reconstruct(const float* sino, const float* angles) {
    check(ws_.initialize(stream_), "workspace");
    const dim3 grid(geo_.tiles, splits_);
    backprojectSplit<<<grid, 256, 0, stream_>>>(sino, angles, geo_, splits_, ws_.partial(),
                                                ws_.arrived(), volume_);
    check(cudaGetLastError(), "backproject");
  }

  void download(float* dst) {
    const size_t bytes = sizeof(float) * geo_.tiles * geo_.tileVoxels;
    check(cudaMemcpyAsync(dst, volume_, bytes, cudaMemcpyDeviceToHost, stream_), "download");
    check(cudaStreamSynchronize(stream_), "download");
  }

 private:
  Geometry geo_;
  int splits_;
  SplitWorkspace ws_;
  cudaStream_t stream_ = nullptr;
  float* volume_ = nullptr;
};

}  // namespace ct

void reconstructSeries(const float* const* sinograms, const float* angles, int frames,
                       ct::Geometry g, float* hostVolumes) {
  ct::Reconstructor rec(g, 8);
  for (int f = 0; f < frames; ++f) {
    rec.reconstruct(sinograms[f], angles);
    rec.download(hostVolumes + static_cast<size_t>(f) * g.tiles * g.tileVoxels);
  }
}
