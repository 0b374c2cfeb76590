// Bottom-up merge of sorted k-mer runs. The two passes of a level are launched back to back with
// programmatic stream serialization to hide the launch latency.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK_CUDA(x)                                                               \
  if (cudaError_t ec = (x); ec != cudaSuccess) {                                    \
    std::fprintf(stderr, "%s (line %d): %s\n", #x, __LINE__, cudaGetErrorString(ec)); \
    std::exit(1);                                                                   \
  }

using Kmer = std::uint64_t;
constexpr int kTile = 1024;
constexpr int kBlock = 128;

struct MergeArgs {
  const Kmer* in;
  Kmer* out;
  int* split;  // one diagonal per output tile
  int n;
  int run;
};

__device__ int merge_path(const Kmer* a, int na, const Kmer* b, int nb, int diag) {
  int lo = max(0, diag - nb), hi = min(diag, na);
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (a[mid] <= b[diag - 1 - mid]) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

__device__ void run_pair(const MergeArgs& m, int tile, int& a0, int& na, int& b0, int& nb) {
  int pair = tile * kTile / (2 * m.run);
  a0 = pair * 2 * m.run;
  na = min(m.run, m.n - a0);
  b0 = a0 + na;
  nb = max(0, min(m.run, m.n - b0));
}

__global__ void find_splits(MergeArgs m) {
  // The input of this level is the output of the level before.
  cudaGridDependencySynchronize();
  int tile = blockIdx.x * blockDim.x + threadIdx.x;
  int tiles = (m.n + kTile - 1) / kTile;
  if (tile < tiles) {
    int a0, na, b0, nb;
    run_pair(m, tile, a0, na, b0, nb);
    m.split[tile] = merge_path(m.in + a0, na, m.in + b0, nb, min(tile * kTile - a0, na + nb));
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void merge_tiles(MergeArgs m) {
  const int tile = blockIdx.x;
  int a0, na, b0, nb;
  run_pair(m, tile, a0, na, b0, nb);
  const int diag = tile * kTile - a0;

  cudaGridDependencySynchronize();
  const int first = m.split[tile];

  const Kmer* a = m.in + a0;
  const Kmer* b = m.in + b0;
  for (int k = threadIdx.x; k < kTile && tile * kTile + k < m.n; k += blockDim.x) {
    int d = diag + k;
    int i = k == 0 ? first : merge_path(a, na, b, nb, d);
    int j = d - i;
    bool take_a = j >= nb || (i < na && a[i] <= b[j]);
    m.out[tile * kTile + k] = take_a ? a[i] : b[j];
  }
}

template <class Kernel>
void launch_chained(Kernel kernel, int grid, cudaStream_t s, const MergeArgs& args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(grid);
  cfg.blockDim = dim3(kBlock);
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  CHECK_CUDA(cudaLaunchKernelEx(&cfg, kernel, args));
}

class KmerMerger {
 public:
  KmerMerger(int capacity, cudaStream_t s) : stream_(s) {
    CHECK_CUDA(cudaMalloc(&buf_[0], capacity * sizeof(Kmer)));
    CHECK_CUDA(cudaMalloc(&buf_[1], capacity * sizeof(Kmer)));
    CHECK_CUDA(cudaMalloc(&split_, (capacity / kTile + 1) * sizeof(int)));
  }
  ~KmerMerger() {
    cudaStreamSynchronize(stream_);
    cudaFree(split_);
    cudaFree(buf_[1]);
    cudaFree(buf_[0]);
  }

  // host (page-locked) holds sorted runs of kTile k-mers on entry and one sorted run on return.
  void merge(Kmer* host, int n) {
    CHECK_CUDA(cudaMemcpyAsync(buf_[0], host, n * sizeof(Kmer), cudaMemcpyHostToDevice, stream_));
    Kmer *src = buf_[0], *dst = buf_[1];
    const int tiles = (n + kTile - 1) / kTile;
    for (int run = kTile; run < n; run *= 2) {
      MergeArgs args{src, dst, split_, n, run};
      launch_chained(find_splits, (tiles + kBlock - 1) / kBlock, stream_, args);
      launch_chained(merge_tiles, tiles, stream_, args);
      std::swap(src, dst);
    }
    CHECK_CUDA(cudaMemcpyAsync(host, src, n * sizeof(Kmer), cudaMemcpyDeviceToHost, stream_));
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  Kmer* buf_[2]{};
  int* split_ = nullptr;
};

int main() {
  constexpr int kCount = 1 << 22;
  Kmer* kmers = nullptr;
  cudaStream_t s{};
  CHECK_CUDA(cudaStreamCreate(&s));
  CHECK_CUDA(cudaMallocHost(&kmers, kCount * sizeof(Kmer)));
  for (int i = 0; i < kCount; ++i) kmers[i] = static_cast<Kmer>(i % kTile) * 2654435761u;
  {
    KmerMerger merger(kCount, s);
    merger.merge(kmers, kCount);
  }
  for (int i = 1; i < kCount; ++i)
    if (kmers[i - 1] > kmers[i]) std::printf("order broken at %d\n", i);
  CHECK_CUDA(cudaFreeHost(kmers));
  CHECK_CUDA(cudaStreamDestroy(s));
  return 0;
}
