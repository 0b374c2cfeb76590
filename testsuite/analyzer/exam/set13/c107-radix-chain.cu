// Histogram, scan and scatter of one radix digit, chained by programmatic dependent launch.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define RX(x)                                                                    \
  do {                                                                           \
    cudaError_t e_ = (x);                                                        \
    if (e_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));              \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int kBins = 256;
constexpr int kThreads = 256;

__global__ void digit_histogram(const std::uint32_t* keys, int n, int shift, unsigned* bins) {
  __shared__ unsigned local[kBins];
  local[threadIdx.x] = 0;
  __syncthreads();
  // Everything above touches shared memory only.
  cudaGridDependencySynchronize();
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    atomicAdd(&local[(keys[i] >> shift) & 0xff], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void scan_bins(unsigned* bins, unsigned* offsets) {
  __shared__ unsigned s[kBins];
  const int t = threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  s[t] = bins[t];
  bins[t] = 0;
  __syncthreads();
  for (int d = 1; d < kBins; d *= 2) {
    unsigned v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  offsets[t] = t ? s[t - 1] : 0;
}

__global__ void scatter(const std::uint32_t* in, std::uint32_t* out, int n, int shift,
                        unsigned* offsets) {
  const int t = threadIdx.x;
  cudaGridDependencySynchronize();
  if (blockIdx.x != 0) return;
  __shared__ unsigned at[kBins];
  at[t] = offsets[t];
  __syncthreads();
  if (t == 0)
    for (int i = 0; i < n; ++i) out[at[(in[i] >> shift) & 0xff]++] = in[i];
}

class PdlLauncher {
 public:
  explicit PdlLauncher(cudaStream_t s) : stream_(s) {
    attr_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr_.val.programmaticStreamSerializationAllowed = 1;
  }

  template <class... P, class... A>
  void operator()(void (*kernel)(P...), int grid, A&&... args) {
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(grid);
    cfg.blockDim = dim3(kThreads);
    cfg.stream = stream_;
    cfg.attrs = &attr_;
    cfg.numAttrs = 1;
    RX(cudaLaunchKernelEx(&cfg, kernel, std::forward<A>(args)...));
  }

 private:
  cudaStream_t stream_;
  cudaLaunchAttribute attr_{};
};

class RadixSorter {
 public:
  explicit RadixSorter(int capacity) {
    RX(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RX(cudaMalloc(&keys_[0], capacity * sizeof(std::uint32_t)));
    RX(cudaMalloc(&keys_[1], capacity * sizeof(std::uint32_t)));
    RX(cudaMalloc(&bins_, kBins * sizeof(unsigned)));
    RX(cudaMalloc(&offsets_, kBins * sizeof(unsigned)));
    RX(cudaMemsetAsync(bins_, 0, kBins * sizeof(unsigned), stream_));
  }
  ~RadixSorter() {
    cudaStreamSynchronize(stream_);
    cudaFree(offsets_);
    cudaFree(bins_);
    cudaFree(keys_[1]);
    cudaFree(keys_[0]);
    cudaStreamDestroy(stream_);
  }
  RadixSorter(const RadixSorter&) = delete;
  RadixSorter& operator=(const RadixSorter&) = delete;

  // keys: page-locked, sorted in place.
  void sort(std::uint32_t* keys, int n) {
    RX(cudaMemcpyAsync(keys_[0], keys, n * sizeof *keys, cudaMemcpyHostToDevice, stream_));
    for (int shift = 0; shift < 32; shift += 8) pass(n, shift);
    RX(cudaMemcpyAsync(keys, keys_[0], n * sizeof *keys, cudaMemcpyDeviceToHost, stream_));
    RX(cudaStreamSynchronize(stream_));
  }

 private:
  void pass(int n, int shift) {
    PdlLauncher launch(stream_);
    const int grid = n < 64 * kThreads ? 1 : 64;
    const std::uint32_t* in = keys_[0];
    launch(digit_histogram, grid, in, n, shift, bins_);
    launch(scan_bins, 1, bins_, offsets_);
    launch(scatter, 8, in, keys_[1], n, shift, offsets_);
    std::swap(keys_[0], keys_[1]);
  }

  cudaStream_t stream_{};
  std::uint32_t* keys_[2]{};
  unsigned *bins_ = nullptr, *offsets_ = nullptr;
};

int main() {
  constexpr int kCount = 100000;
  std::uint32_t* keys = nullptr;
  RX(cudaMallocHost(&keys, kCount * sizeof *keys));
  for (int i = 0; i < kCount; ++i) keys[i] = static_cast<std::uint32_t>(i) * 2246822519u;
  {
    RadixSorter sorter(kCount);
    sorter.sort(keys, kCount);
  }
  for (int i = 1; i < kCount; ++i)
    if (keys[i - 1] > keys[i]) std::printf("order broken at %d\n", i);
  RX(cudaFreeHost(keys));
  return 0;
}
