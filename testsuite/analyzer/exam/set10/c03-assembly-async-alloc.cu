// De-novo assembly: overlap graphs are built on one stream and simplified on another, in stream-ordered memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define TRY(x)                                                                   \
  do {                                                                           \
    cudaError_t t_ = (x);                                                        \
    if (t_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(t_)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

// Memory from the device's pool. Every stream that uses it besides the owner is noted and joined before the free.
template <typename T>
class PoolArray {
 public:
  PoolArray(size_t n, cudaStream_t owner) : n_(n), owner_(owner) {
    TRY(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), owner));
    TRY(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  }
  PoolArray(PoolArray&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), n_(o.n_), owner_(o.owner_), event_(std::exchange(o.event_, nullptr)),
        users_(std::move(o.users_)) {}
  PoolArray& operator=(PoolArray&&) = delete;
  ~PoolArray() {
    if (!p_) return;
    for (cudaStream_t s : users_) {
      cudaEventRecord(event_, s);
      cudaStreamWaitEvent(owner_, event_, 0);
    }
    cudaFreeAsync(p_, owner_);
    cudaEventDestroy(event_);
  }

  T* owned() const { return p_; }

  // For work on another stream: it starts after what was queued on the owner so far.
  T* borrow(cudaStream_t user) {
    TRY(cudaEventRecord(event_, owner_));
    TRY(cudaStreamWaitEvent(user, event_, 0));
    if (std::find(users_.begin(), users_.end(), user) == users_.end()) users_.push_back(user);
    return p_;
  }

  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
  cudaStream_t owner_;
  cudaEvent_t event_ = nullptr;
  std::vector<cudaStream_t> users_;
};

__global__ void find_overlaps(const uint32_t* reads, uint32_t* edges, int n, unsigned batch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) edges[i] = (reads[i] * 2654435761u + batch) % unsigned(n);
}

__global__ void drop_transitive(uint32_t* degree, const uint32_t* edges, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t to = edges[i];
  if (edges[to] != uint32_t(i)) atomicAdd(&degree[to], 1u);
}

class Assembler {
 public:
  explicit Assembler(int n) : n_(n) {
    TRY(cudaStreamCreateWithFlags(&build_, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&simplify_, cudaStreamNonBlocking));
    TRY(cudaMalloc(&degree_, n * sizeof(uint32_t)));
    TRY(cudaMemsetAsync(degree_, 0, n * sizeof(uint32_t), simplify_));
  }
  ~Assembler() {
    cudaStreamSynchronize(build_);
    cudaStreamSynchronize(simplify_);
    cudaFree(degree_);
    cudaStreamDestroy(simplify_);
    cudaStreamDestroy(build_);
  }
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  void add_batch(const std::vector<uint32_t>& reads, unsigned batch) {
    PoolArray<uint32_t> device_reads(n_, build_);
    TRY(cudaMemcpyAsync(device_reads.owned(), reads.data(), n_ * sizeof(uint32_t), cudaMemcpyHostToDevice, build_));
    PoolArray<uint32_t> edges = overlaps(device_reads, batch);
    simplify(edges);
    TRY(cudaStreamSynchronize(build_));
  }

  uint32_t max_degree() {
    std::vector<uint32_t> host(n_);
    TRY(cudaMemcpyAsync(host.data(), degree_, n_ * sizeof(uint32_t), cudaMemcpyDeviceToHost, simplify_));
    TRY(cudaStreamSynchronize(simplify_));
    return *std::max_element(host.begin(), host.end());
  }

 private:
  PoolArray<uint32_t> overlaps(const PoolArray<uint32_t>& reads, unsigned batch) {
    PoolArray<uint32_t> edges(n_, build_);
    find_overlaps<<<(n_ + 255) / 256, 256, 0, build_>>>(reads.owned(), edges.owned(), n_, batch);
    TRY(cudaGetLastError());
    return edges;
  }

  void simplify(PoolArray<uint32_t>& edges) {
    const uint32_t* e = edges.borrow(simplify_);
    drop_transitive<<<(n_ + 255) / 256, 256, 0, simplify_>>>(degree_, e, n_);
    TRY(cudaGetLastError());
  }

  int n_;
  cudaStream_t build_ = nullptr, simplify_ = nullptr;
  uint32_t* degree_ = nullptr;
};

int main() {
  constexpr int kReads = 1 << 20;
  Assembler assembler(kReads);
  std::vector<uint32_t> reads(kReads);
  for (unsigned batch = 0; batch < 16; ++batch) {
    for (int i = 0; i < kReads; ++i) reads[i] = i * 31u + batch;
    assembler.add_batch(reads, batch);
  }
  std::printf("max degree %u\n", assembler.max_degree());
  return 0;
}
