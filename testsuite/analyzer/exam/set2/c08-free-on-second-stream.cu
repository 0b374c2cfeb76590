// Stream-ordered vector that can change hands: rebind() orders the new stream
// after the old one, and the release happens on the stream that owns it last.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace olap {

inline void cuda_or_die(cudaError_t e, int line)
{
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::abort();
}
#define OLAP_CUDA(x) ::olap::cuda_or_die((x), __LINE__)

template <class T>
class svector {
 public:
  svector(size_t n, cudaStream_t s) : n_(n), owner_(s)
  {
    OLAP_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), s));
  }
  svector(svector&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_), owner_(o.owner_) {}
  svector& operator=(svector&&) = delete;
  ~svector()
  {
    if (p_ != nullptr) OLAP_CUDA(cudaFreeAsync(p_, owner_));
  }
  void rebind(cudaStream_t s)
  {
    if (s == owner_) return;
    cudaEvent_t e;
    OLAP_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OLAP_CUDA(cudaEventRecord(e, owner_));
    OLAP_CUDA(cudaStreamWaitEvent(s, e, 0));
    OLAP_CUDA(cudaEventDestroy(e));
    owner_ = s;
  }
  T* data() { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
  cudaStream_t owner_;
};

__global__ void select_rows(const int* price, int n, int limit, unsigned char* keep)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keep[i] = price[i] < limit;
}

__global__ void masked_sum(const int* qty, const unsigned char* keep, int n, unsigned long long* sum)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && keep[i]) atomicAdd(sum, static_cast<unsigned long long>(qty[i]));
}

svector<unsigned char> filter(const int* price, int n, int limit, cudaStream_t scan)
{
  svector<unsigned char> keep(n, scan);
  select_rows<<<(n + 255) / 256, 256, 0, scan>>>(price, n, limit, keep.data());
  OLAP_CUDA(cudaGetLastError());
  return keep;
}

void aggregate(svector<unsigned char> keep, const int* qty, unsigned long long* sum, cudaStream_t agg)
{
  keep.rebind(agg);
  int n = static_cast<int>(keep.size());
  OLAP_CUDA(cudaMemsetAsync(sum, 0, sizeof(*sum), agg));
  masked_sum<<<(n + 255) / 256, 256, 0, agg>>>(qty, keep.data(), n, sum);
  OLAP_CUDA(cudaGetLastError());
}

void run_queries(const int* price, const int* qty, int n, const int* limits, int queries, unsigned long long* sums)
{
  cudaStream_t scan, agg;
  OLAP_CUDA(cudaStreamCreateWithFlags(&scan, cudaStreamNonBlocking));
  OLAP_CUDA(cudaStreamCreateWithFlags(&agg, cudaStreamNonBlocking));
  for (int q = 0; q < queries; ++q) aggregate(filter(price, n, limits[q], scan), qty, sums + q, agg);
  OLAP_CUDA(cudaStreamSynchronize(agg));
  OLAP_CUDA(cudaStreamDestroy(agg));
  OLAP_CUDA(cudaStreamDestroy(scan));
}

}  // namespace olap
