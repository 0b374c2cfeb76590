// Spilled column batches are shuffled to the GPUs of a node through page-locked slabs.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace shuffle {

inline bool verbose() { return std::getenv("SHUFFLE_VERBOSE") != nullptr; }

#define LOG_CUDA(call)                                                                 \
  do {                                                                                 \
    cudaError_t rc_ = (call);                                                          \
    if (rc_ != cudaSuccess && ::shuffle::verbose())                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc_));                \
  } while (0)

constexpr std::size_t kSlabBytes = 4u << 20;

struct Slab {
  std::uint8_t* host = nullptr;
  cudaEvent_t released = nullptr;
};

class SlabPool {
 public:
  SlabPool(int slabs, int devices) : devices_(devices) {
    for (int i = 0; i < slabs; ++i) {
      auto s = std::make_unique<Slab>();
      LOG_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&s->host), kSlabBytes, cudaHostAllocPortable));
      LOG_CUDA(cudaEventCreateWithFlags(&s->released, cudaEventDisableTiming));
      idle_.push_back(s.get());
      all_.push_back(std::move(s));
    }
  }
  ~SlabPool() {
    for (auto& s : all_) {
      cudaEventSynchronize(s->released);
      cudaEventDestroy(s->released);
      cudaFreeHost(s->host);
    }
  }

  Slab* acquire() {
    Slab* s = idle_.front();
    idle_.pop_front();
    LOG_CUDA(cudaEventSynchronize(s->released));
    return s;
  }

  void release(Slab* s, int device, cudaStream_t stream) {
    assert(device < devices_);
    LOG_CUDA(cudaEventRecord(s->released, stream));
    idle_.push_back(s);
  }

 private:
  int devices_;
  std::vector<std::unique_ptr<Slab>> all_;
  std::deque<Slab*> idle_;
};

__global__ void histogram(const std::uint8_t* rows, unsigned* bins, std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x)
    atomicAdd(&bins[rows[i]], 1u);
}

struct Partition {
  int device;
  cudaStream_t stream;
  std::uint8_t* rows;
  unsigned* bins;
};

class Exchange {
 public:
  explicit Exchange(int devices) : pool_(4, devices) {
    for (int d = 0; d < devices; ++d) {
      Partition p{d, nullptr, nullptr, nullptr};
      LOG_CUDA(cudaSetDevice(d));
      LOG_CUDA(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
      LOG_CUDA(cudaMalloc(reinterpret_cast<void**>(&p.rows), kSlabBytes));
      LOG_CUDA(cudaMalloc(reinterpret_cast<void**>(&p.bins), 256 * sizeof(unsigned)));
      LOG_CUDA(cudaMemsetAsync(p.bins, 0, 256 * sizeof(unsigned), p.stream));
      parts_.push_back(p);
    }
  }
  ~Exchange() {
    for (Partition& p : parts_) {
      cudaSetDevice(p.device);
      cudaStreamSynchronize(p.stream);
      cudaFree(p.rows);
      cudaFree(p.bins);
      cudaStreamDestroy(p.stream);
    }
  }

  void push(const std::vector<std::uint8_t>& batch, int target) {
    Partition& p = parts_[target];
    Slab* slab = pool_.acquire();
    std::memcpy(slab->host, batch.data(), batch.size());
    LOG_CUDA(cudaSetDevice(p.device));
    LOG_CUDA(cudaMemcpyAsync(p.rows, slab->host, batch.size(), cudaMemcpyHostToDevice, p.stream));
    histogram<<<256, 256, 0, p.stream>>>(p.rows, p.bins, batch.size());
    pool_.release(slab, p.device, p.stream);
  }

  std::uint64_t total() {
    std::uint64_t sum = 0;
    for (Partition& p : parts_) {
      unsigned bins[256];
      LOG_CUDA(cudaSetDevice(p.device));
      LOG_CUDA(cudaMemcpyAsync(bins, p.bins, sizeof bins, cudaMemcpyDeviceToHost, p.stream));
      LOG_CUDA(cudaStreamSynchronize(p.stream));
      for (unsigned b : bins) sum += b;
    }
    return sum;
  }

 private:
  SlabPool pool_;
  std::vector<Partition> parts_;
};

}  // namespace shuffle

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) return 0;
  shuffle::Exchange ex(devices);
  std::vector<std::uint8_t> batch(shuffle::kSlabBytes);
  for (int b = 0; b < 200; ++b) {
    std::memset(batch.data(), b & 0xff, batch.size());
    ex.push(batch, b % devices);
  }
  std::printf("%llu rows\n", static_cast<unsigned long long>(ex.total()));
}
