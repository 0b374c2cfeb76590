// Feeds read chunks to every GPU of the host through a shared set of page-locked slabs.  The events
// that guard the slabs are recycled, because creating them is slow.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define OK(x)                                                                      \
  do {                                                                             \
    cudaError_t rc_ = (x);                                                          \
    if (rc_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc_));               \
      std::exit(EXIT_FAILURE);                                                     \
    }                                                                              \
  } while (0)

constexpr size_t kSlabBytes = size_t(1) << 20;

class EventCache {
 public:
  ~EventCache() {
    for (auto& perDevice : idle_)
      for (cudaEvent_t e : perDevice.second) cudaEventDestroy(e);
  }

  cudaEvent_t take(int device) {
    std::vector<cudaEvent_t>& idle = idle_[device];
    if (!idle.empty()) {
      cudaEvent_t e = idle.back();
      idle.pop_back();
      return e;
    }
    cudaEvent_t e;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
  }

  void give(int device, cudaEvent_t e) { idle_[device].push_back(e); }

 private:
  std::map<int, std::vector<cudaEvent_t>> idle_;
};

struct Slab {
  char* host = nullptr;
  cudaEvent_t inFlight = nullptr;
  int device = 0;
};

class SlabRing {
 public:
  explicit SlabRing(int count) : slabs_(count) {
    for (Slab& s : slabs_) OK(cudaHostAlloc(reinterpret_cast<void**>(&s.host), kSlabBytes, cudaHostAllocPortable));
  }
  ~SlabRing() {
    for (Slab& s : slabs_) {
      settle(s);
      cudaFreeHost(s.host);
    }
  }

  // The least recently used slab, free for the host to fill.
  Slab& next() {
    Slab& s = slabs_[head_];
    head_ = (head_ + 1) % slabs_.size();
    settle(s);
    return s;
  }

  // Marks the slab as read by everything queued on `stream`, a stream of the current device.
  void publish(Slab& s, cudaStream_t stream) {
    OK(cudaGetDevice(&s.device));
    s.inFlight = events_.take(s.device);
    OK(cudaEventRecord(s.inFlight, stream));
  }

 private:
  void settle(Slab& s) {
    if (!s.inFlight) return;
    cudaEventSynchronize(s.inFlight);
    events_.give(s.device, s.inFlight);
    s.inFlight = nullptr;
  }

  EventCache events_;
  std::vector<Slab> slabs_;
  size_t head_ = 0;
};

__global__ void countBases(const char* reads, unsigned* counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[(reads[i] >> 1) & 3], 1u);
}

class GpuCounter {
 public:
  explicit GpuCounter(int device) : device_(device) {
    OK(cudaSetDevice(device_));
    OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OK(cudaMalloc(&reads_, kSlabBytes));
    OK(cudaMalloc(&counts_, 4 * sizeof(unsigned)));
    OK(cudaMemsetAsync(counts_, 0, 4 * sizeof(unsigned), stream_));
  }

  void consume(SlabRing& ring, const std::string& chunk) {
    OK(cudaSetDevice(device_));
    Slab& slab = ring.next();
    std::memcpy(slab.host, chunk.data(), chunk.size());
    OK(cudaMemcpyAsync(reads_, slab.host, chunk.size(), cudaMemcpyHostToDevice, stream_));
    ring.publish(slab, stream_);
    const int n = static_cast<int>(chunk.size());
    countBases<<<(n + 255) / 256, 256, 0, stream_>>>(reads_, counts_, n);
    OK(cudaGetLastError());
  }

  void finish(unsigned* out) {
    OK(cudaSetDevice(device_));
    OK(cudaMemcpyAsync(out, counts_, 4 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream_));
    OK(cudaStreamSynchronize(stream_));
    OK(cudaFree(reads_));
    OK(cudaFree(counts_));
    OK(cudaStreamDestroy(stream_));
  }

 private:
  int device_;
  cudaStream_t stream_{};
  char* reads_ = nullptr;
  unsigned* counts_ = nullptr;
};

int main() {
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  std::vector<GpuCounter> gpus;
  for (int d = 0; d < devices; ++d) gpus.emplace_back(d);
  {
    SlabRing ring(3);
    const std::string chunk(kSlabBytes, 'G');
    for (int round = 0; round < 100; ++round)
      for (GpuCounter& g : gpus) g.consume(ring, chunk);
    unsigned counts[4];
    for (GpuCounter& g : gpus) {
      g.finish(counts);
      std::printf("%u %u %u %u\n", counts[0], counts[1], counts[2], counts[3]);
    }
  }
  return 0;
}
