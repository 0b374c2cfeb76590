// Streams ballot scans to the tabulator through recycled page-locked pages.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#define BT(x)                                                                    \
  do {                                                                           \
    const cudaError_t bt_ = (x);                                                 \
    if (bt_ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(bt_));             \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

namespace ballots {

struct Page {
  std::uint8_t* mem = nullptr;
  cudaEvent_t last = nullptr;
};

class PageCache {
 public:
  PageCache(int pages, std::size_t bytes) : bytes_(bytes) {
    for (int i = 0; i < pages; ++i) {
      Page p;
      BT(cudaMallocHost(&p.mem, bytes));
      BT(cudaEventCreateWithFlags(&p.last, cudaEventDisableTiming));
      idle_.push_back(p);
    }
  }
  ~PageCache() {
    for (Page& p : idle_) {
      cudaEventSynchronize(p.last);
      cudaEventDestroy(p.last);
      cudaFreeHost(p.mem);
    }
  }

  // The page may come back here while its copy is still under way.
  void recycle(Page p, cudaStream_t s) {
    BT(cudaEventRecord(p.last, s));
    std::lock_guard<std::mutex> lk(mu_);
    idle_.push_back(p);
    cv_.notify_one();
  }

  Page obtain() {
    Page p;
    {
      std::unique_lock<std::mutex> lk(mu_);
      cv_.wait(lk, [this] { return !idle_.empty(); });
      p = idle_.front();
      idle_.pop_front();
    }
    BT(cudaEventSynchronize(p.last));
    return p;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<Page> idle_;
};

__global__ void tally(const std::uint8_t* scan, std::size_t n, unsigned long long* votes) {
  __shared__ unsigned int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x)
    atomicAdd(&local[scan[i] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&votes[threadIdx.x], (unsigned long long)local[threadIdx.x]);
}

class Tabulator {
 public:
  explicit Tabulator(PageCache& cache) : cache_(cache) {
    BT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    BT(cudaMalloc(&scan_, cache.bytes()));
    BT(cudaMalloc(&votes_, 16 * sizeof(unsigned long long)));
    BT(cudaMemsetAsync(votes_, 0, 16 * sizeof(unsigned long long), stream_));
  }
  ~Tabulator() {
    BT(cudaStreamSynchronize(stream_));
    BT(cudaFree(votes_));
    BT(cudaFree(scan_));
    BT(cudaStreamDestroy(stream_));
  }

  void add(const std::vector<std::uint8_t>& precinct) {
    for (std::size_t at = 0; at < precinct.size(); at += cache_.bytes()) {
      const std::size_t n = precinct.size() - at < cache_.bytes() ? precinct.size() - at : cache_.bytes();
      Page p = cache_.obtain();
      std::memcpy(p.mem, precinct.data() + at, n);
      BT(cudaMemcpyAsync(scan_, p.mem, n, cudaMemcpyHostToDevice, stream_));
      cache_.recycle(p, stream_);
      tally<<<64, 256, 0, stream_>>>(scan_, n, votes_);
    }
  }

  void report(unsigned long long out[16]) {
    BT(cudaMemcpyAsync(out, votes_, 16 * sizeof *out, cudaMemcpyDeviceToHost, stream_));
    BT(cudaStreamSynchronize(stream_));
  }

 private:
  PageCache& cache_;
  cudaStream_t stream_ = nullptr;
  std::uint8_t* scan_ = nullptr;
  unsigned long long* votes_ = nullptr;
};

}  // namespace ballots

int main() {
  ballots::PageCache cache(3, 1 << 20);
  ballots::Tabulator north(cache), south(cache);
  std::vector<std::uint8_t> rolls(10'000'000);
  for (int day = 0; day < 5; ++day) {
    for (std::size_t i = 0; i < rolls.size(); ++i) rolls[i] = std::uint8_t((i * 7 + day) % 11);
    north.add(rolls);
    south.add(rolls);
  }
  unsigned long long n[16], s[16];
  north.report(n);
  south.report(s);
  std::printf("%llu %llu\n", n[0], s[0]);
}
