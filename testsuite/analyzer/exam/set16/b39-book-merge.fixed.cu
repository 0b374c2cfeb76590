// Merges the sorted bid books of two venues. The merge grid is launched as a dependent of the partition grid.
#include <cuda_runtime.h>

#include <stdexcept>
#include <utility>

namespace book {

inline void verify(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Order {
  unsigned price;
  unsigned quantity;
};

struct Side {
  const Order* orders;
  int count;
};

constexpr int kTile = 1024;
constexpr int kThreads = 128;

__device__ __forceinline__ void dependencyWait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void dependencyTrigger() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ inline int mergePath(Side a, Side b, int diagonal) {
  int lo = max(0, diagonal - b.count), hi = min(diagonal, a.count);
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (a.orders[mid].price >= b.orders[diagonal - 1 - mid].price)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

// splits[t] is the number of orders of `a` in front of output tile t.
__global__ void partitionTiles(Side a, Side b, int* splits, int tiles) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  dependencyTrigger();
  if (t > tiles) return;
  int diagonal = min(t * kTile, a.count + b.count);
  splits[t] = mergePath(a, b, diagonal);
}

__global__ void mergeTiles(Side a, Side b, const int* splits, Order* merged) {
  const int tile = blockIdx.x;
  const int first = tile * kTile;
  const int last = min(first + kTile, a.count + b.count);
  dependencyWait();
  const int aBegin = splits[tile];
  const int aEnd = splits[tile + 1];
  const int bBegin = first - aBegin;
  const int bEnd = last - aEnd;
  for (int i = aBegin + threadIdx.x; i < aEnd; i += blockDim.x) {
    unsigned price = a.orders[i].price;
    int lo = bBegin, hi = bEnd;
    while (lo < hi) {
      int mid = (lo + hi) / 2;
      if (b.orders[mid].price > price) lo = mid + 1; else hi = mid;
    }
    merged[first + (i - aBegin) + (lo - bBegin)] = a.orders[i];
  }
  for (int i = bBegin + threadIdx.x; i < bEnd; i += blockDim.x) {
    unsigned price = b.orders[i].price;
    int lo = aBegin, hi = aEnd;
    while (lo < hi) {
      int mid = (lo + hi) / 2;
      if (a.orders[mid].price >= price) lo = mid + 1; else hi = mid;
    }
    merged[first + (i - bBegin) + (lo - aBegin)] = b.orders[i];
  }
}

/// Launches `kernel` so that it may start before its predecessor in the stream has ended.
template <class... Params, class... Args>
void launchDependent(void (*kernel)(Params...), int blocks, int threads, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  verify(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class Merger {
 public:
  explicit Merger(int capacity) : tiles_((capacity + kTile - 1) / kTile) {
    verify(cudaMalloc(reinterpret_cast<void**>(&splits_), (tiles_ + 1) * sizeof(int)));
  }
  ~Merger() {
    cudaDeviceSynchronize();
    cudaFree(splits_);
  }
  Merger(const Merger&) = delete;
  Merger& operator=(const Merger&) = delete;

  /// Both sides must be ready in the order of `stream`; so is `merged` afterwards.
  void merge(Side a, Side b, Order* merged, cudaStream_t stream) {
    const int tiles = (a.count + b.count + kTile - 1) / kTile;
    if (tiles == 0) return;
    if (tiles > tiles_) throw std::length_error("book exceeds the capacity of the merger");
    partitionTiles<<<(tiles + kThreads) / kThreads, kThreads, 0, stream>>>(a, b, splits_, tiles);
    verify(cudaGetLastError());
    launchDependent(mergeTiles, tiles, kThreads, stream, a, b, static_cast<const int*>(splits_), merged);
  }

 private:
  int tiles_;
  int* splits_ = nullptr;
};

}  // namespace book
