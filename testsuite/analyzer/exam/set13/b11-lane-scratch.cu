// Aligns read batches; each batch runs on a short-lived lane that borrows scratch from a shared arena.
#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace aln {

inline void must(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Blocks released on a stream can be taken again on that stream without any wait.
class ScratchArena {
 public:
  ~ScratchArena() {
    must(cudaDeviceSynchronize());
    for (void* p : all_) cudaFree(p);
  }

  void* take(size_t bytes, cudaStream_t s) {
    std::lock_guard<std::mutex> lk(m_);
    if (void* p = pop(per_stream_[s], bytes)) return p;
    if (void* p = pop(shared_, bytes)) return p;
    void* p = nullptr;
    must(cudaMalloc(&p, bytes));
    all_.push_back(p);
    return p;
  }

  void give(void* p, size_t bytes, cudaStream_t s) {
    std::lock_guard<std::mutex> lk(m_);
    per_stream_[s].emplace(bytes, p);
  }

  // The stream is going away: its blocks become available to everybody.
  void retire(cudaStream_t s) {
    std::lock_guard<std::mutex> lk(m_);
    auto it = per_stream_.find(s);
    if (it == per_stream_.end()) return;
    shared_.insert(it->second.begin(), it->second.end());
    per_stream_.erase(it);
  }

 private:
  using FreeList = std::multimap<size_t, void*>;
  static void* pop(FreeList& list, size_t bytes) {
    auto it = list.lower_bound(bytes);
    if (it == list.end()) return nullptr;
    void* p = it->second;
    list.erase(it);
    return p;
  }

  std::mutex m_;
  std::unordered_map<cudaStream_t, FreeList> per_stream_;
  FreeList shared_;
  std::vector<void*> all_;
};

class Lane {
 public:
  explicit Lane(ScratchArena& arena) : arena_(arena) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Lane() {
    arena_.retire(stream_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  cudaStream_t stream() const { return stream_; }
  ScratchArena& arena() const { return arena_; }

 private:
  ScratchArena& arena_;
  cudaStream_t stream_{};
};

template <class T>
class Scratch {
 public:
  Scratch(const Lane& lane, size_t n) : lane_(lane), bytes_(n * sizeof(T)) {
    p_ = static_cast<T*>(lane_.arena().take(bytes_, lane_.stream()));
  }
  ~Scratch() { lane_.arena().give(p_, bytes_, lane_.stream()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  operator T*() const { return p_; }

 private:
  const Lane& lane_;
  size_t bytes_;
  T* p_;
};

__global__ void fill_band(const unsigned char* reads, const unsigned char* ref, int* band, int len,
                          int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  int h = 0;
  for (int i = 0; i < len; ++i) {
    h = max(0, h + (reads[r * len + i] == ref[i] ? 2 : -1));
    band[r * len + i] = h;
  }
}

__global__ void best_cell(const int* band, int* best, int len, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  int m = 0;
  for (int i = 0; i < len; ++i) m = max(m, band[r * len + i]);
  best[r] = m;
}

struct ReadBatch {
  const unsigned char* reads;  // device, valid for the whole run
  int count;
  int* best;  // device, one per read
};

class Aligner {
 public:
  Aligner(const unsigned char* ref, int len) : ref_(ref), len_(len) {}

  void run(const std::vector<ReadBatch>& batches) {
    for (const ReadBatch& b : batches) align(b);
    must(cudaDeviceSynchronize());
  }

 private:
  void align(const ReadBatch& b) {
    Lane lane(arena_);
    Scratch<int> band(lane, static_cast<size_t>(b.count) * len_);
    const int grid = (b.count + 127) / 128;
    fill_band<<<grid, 128, 0, lane.stream()>>>(b.reads, ref_, band, len_, b.count);
    best_cell<<<grid, 128, 0, lane.stream()>>>(band, b.best, len_, b.count);
    must(cudaGetLastError());
  }

  ScratchArena arena_;
  const unsigned char* ref_;
  int len_;
};

}  // namespace aln

int main() {
  constexpr int kLen = 150, kReads = 20000, kBatches = 16;
  unsigned char *reads = nullptr, *ref = nullptr;
  int* best = nullptr;
  aln::must(cudaMalloc(&reads, kLen * kReads));
  aln::must(cudaMalloc(&ref, kLen));
  aln::must(cudaMalloc(&best, kReads * kBatches * sizeof(int)));
  aln::must(cudaMemset(reads, 2, kLen * kReads));
  aln::must(cudaMemset(ref, 2, kLen));
  aln::must(cudaDeviceSynchronize());
  {
    aln::Aligner aligner(ref, kLen);
    std::vector<aln::ReadBatch> batches;
    for (int i = 0; i < kBatches; ++i) batches.push_back({reads, kReads, best + i * kReads});
    aligner.run(batches);
  }
  aln::must(cudaFree(best));
  aln::must(cudaFree(ref));
  aln::must(cudaFree(reads));
  return 0;
}
