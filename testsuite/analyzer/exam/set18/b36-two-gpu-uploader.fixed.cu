// Feeds log records to all GPUs of a host. Records are staged in pinned slabs;
// a slab may be filled again once the copy out of it is done.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingest {

bool report(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return true;
#ifndef NDEBUG
  std::fprintf(stderr, "ingest: %s: %s\n", what, cudaGetErrorString(e));
#endif
  return false;
}
#define TRY(x) ::ingest::report((x), #x)

constexpr std::size_t kSlabBytes = std::size_t(4) << 20;

__global__ void countNewlines(const char* text, std::size_t n, unsigned long long* lines) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n;
       i += std::size_t(gridDim.x) * blockDim.x)
    mine += text[i] == '\n';
  if (mine) atomicAdd(lines, mine);
}

// Events are recycled: creating one for each slab use is too slow.
class EventCache {
 public:
  ~EventCache() {
    for (auto& kv : idle_)
      for (cudaEvent_t e : kv.second) cudaEventDestroy(e);
  }
  // An event can only be recorded on the device on which it was made, which has
  // to be the current one here.
  cudaEvent_t acquire(int device) {
    auto& idle = idle_[device];
    if (idle.empty()) {
      cudaEvent_t e = nullptr;
      TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      return e;
    }
    cudaEvent_t e = idle.back();
    idle.pop_back();
    return e;
  }
  void release(cudaEvent_t e, int device) { idle_[device].push_back(e); }

 private:
  std::unordered_map<int, std::vector<cudaEvent_t>> idle_;
};

struct Slab {
  char* data = nullptr;
  cudaEvent_t busy = nullptr;
  int device = -1;
};

// Slabs are portable pinned memory and serve every device.
class SlabPool {
 public:
  explicit SlabPool(int n) : slabs_(n) {
    for (Slab& s : slabs_) {
      TRY(cudaHostAlloc(reinterpret_cast<void**>(&s.data), kSlabBytes, cudaHostAllocPortable));
      queue_.push_back(&s);
    }
  }
  ~SlabPool() {
    for (Slab& s : slabs_) {
      if (s.busy) cudaEventSynchronize(s.busy), cudaEventDestroy(s.busy);
      cudaFreeHost(s.data);
    }
  }

  Slab* take() {
    Slab* s = queue_.front();
    queue_.pop_front();
    if (s->busy) {
      TRY(cudaEventSynchronize(s->busy));
      events_.release(s->busy, s->device);
      s->busy = nullptr;
    }
    return s;
  }

  // The slab is free again when the present work of `stream` is done.
  void giveBack(Slab* s, cudaStream_t stream) {
    TRY(cudaGetDevice(&s->device));
    s->busy = events_.acquire(s->device);
    TRY(cudaEventRecord(s->busy, stream));
    queue_.push_back(s);
  }

 private:
  std::vector<Slab> slabs_;
  std::deque<Slab*> queue_;
  EventCache events_;
};

class Worker {
 public:
  Worker(int device, SlabPool& pool) : device_(device), pool_(pool) {
    TRY(cudaSetDevice(device_));
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaMalloc(reinterpret_cast<void**>(&text_), kSlabBytes));
    TRY(cudaMalloc(reinterpret_cast<void**>(&lines_), sizeof(*lines_)));
    TRY(cudaMemsetAsync(lines_, 0, sizeof(*lines_), stream_));
  }
  ~Worker() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(text_);
    cudaFree(lines_);
    cudaStreamDestroy(stream_);
  }

  void consume(const std::string& chunk) {
    TRY(cudaSetDevice(device_));
    Slab* slab = pool_.take();
    const std::size_t n = chunk.size() < kSlabBytes ? chunk.size() : kSlabBytes;
    std::memcpy(slab->data, chunk.data(), n);
    TRY(cudaMemcpyAsync(text_, slab->data, n, cudaMemcpyHostToDevice, stream_));
    pool_.giveBack(slab, stream_);
    countNewlines<<<128, 256, 0, stream_>>>(text_, n, lines_);
    TRY(cudaGetLastError());
  }

  unsigned long long total() {
    unsigned long long n = 0;
    TRY(cudaSetDevice(device_));
    TRY(cudaMemcpyAsync(&n, lines_, sizeof(n), cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    return n;
  }

 private:
  int device_;
  SlabPool& pool_;
  cudaStream_t stream_ = nullptr;
  char* text_ = nullptr;
  unsigned long long* lines_ = nullptr;
};

// Deals the chunks out over `devices` GPUs.
unsigned long long countLines(const std::vector<std::string>& chunks, int devices) {
  SlabPool pool(2 * devices + 1);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int d = 0; d < devices; ++d) workers.push_back(std::make_unique<Worker>(d, pool));
  for (std::size_t i = 0; i < chunks.size(); ++i) workers[i % devices]->consume(chunks[i]);
  unsigned long long sum = 0;
  for (auto& w : workers) sum += w->total();
  return sum;
}

}  // namespace ingest
