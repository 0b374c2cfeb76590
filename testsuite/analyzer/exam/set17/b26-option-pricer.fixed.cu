// Monte Carlo pricing of a list of European calls on one stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define PRICER_CHECK(call)                                                            \
  do {                                                                                \
    const cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess)                                                            \
      throw std::runtime_error(std::string(#call " failed: ") + cudaGetErrorString(e_)); \
  } while (0)

namespace pricer {

struct Contract {
  float spot, strike, rate, vol, years;
  uint32_t seed;
};

// Page-locked slots of fixed size, handed out from a free list.
class SlotPool {
 public:
  static constexpr size_t kSlotBytes = 256;
  explicit SlotPool(size_t slots) {
    PRICER_CHECK(cudaMallocHost(&base_, slots * kSlotBytes));
    for (size_t i = 0; i < slots; ++i) free_.push_back(base_ + (slots - 1 - i) * kSlotBytes);
  }
  SlotPool(const SlotPool&) = delete;
  ~SlotPool() { cudaFreeHost(base_); }
  unsigned char* take() {
    if (free_.empty()) throw std::runtime_error("slot pool exhausted");
    unsigned char* p = free_.back();
    free_.pop_back();
    return p;
  }
  void give(unsigned char* p) { free_.push_back(p); }

 private:
  unsigned char* base_ = nullptr;
  std::vector<unsigned char*> free_;
};

// A value in page-locked memory; its slot returns to the pool with the object.
template <typename T>
class Staged {
  static_assert(sizeof(T) <= SlotPool::kSlotBytes, "value does not fit in a slot");

 public:
  Staged(SlotPool& pool, const T& value) : pool_(pool), slot_(pool.take()) {
    std::memcpy(slot_, &value, sizeof(T));
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() { pool_.give(slot_); }
  const void* host() const { return slot_; }

 private:
  SlotPool& pool_;
  unsigned char* slot_;
};

// A single T in stream-ordered device memory.
template <typename T>
class DeviceValue {
 public:
  DeviceValue(const Staged<T>& init, cudaStream_t stream) : stream_(stream) {
    PRICER_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), sizeof(T), stream_));
    PRICER_CHECK(cudaMemcpyAsync(ptr_, init.host(), sizeof(T), cudaMemcpyHostToDevice, stream_));
  }
  DeviceValue(const DeviceValue&) = delete;
  ~DeviceValue() { cudaFreeAsync(ptr_, stream_); }
  const T* get() const { return ptr_; }

 private:
  T* ptr_ = nullptr;
  cudaStream_t stream_;
};

__device__ inline uint32_t mix(uint32_t x) {
  x ^= x >> 16; x *= 0x7feb352du;
  x ^= x >> 15; x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__global__ void simulate(const Contract* contract, float* payoff, int paths) {
  const Contract c = *contract;
  float sum = 0.f;
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < paths; p += gridDim.x * blockDim.x) {
    const float u1 = (mix(c.seed + 2u * p) + 1.0f) * 2.3283064e-10f;
    const float u2 = mix(c.seed + 2u * p + 1u) * 2.3283064e-10f;
    const float z = sqrtf(-2.f * logf(u1)) * cosf(6.2831853f * u2);
    const float drift = (c.rate - 0.5f * c.vol * c.vol) * c.years;
    const float end = c.spot * expf(drift + c.vol * sqrtf(c.years) * z);
    sum += fmaxf(end - c.strike, 0.f) * expf(-c.rate * c.years);
  }
  atomicAdd(payoff, sum / paths);
}

class Engine {
 public:
  Engine(size_t maxContracts, int paths)
      : max_(maxContracts), paths_(paths), slots_(maxContracts) {
    PRICER_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    PRICER_CHECK(cudaMalloc(reinterpret_cast<void**>(&devPrices_), max_ * sizeof(float)));
    PRICER_CHECK(cudaMallocHost(reinterpret_cast<void**>(&prices_), max_ * sizeof(float)));
  }
  Engine(const Engine&) = delete;
  ~Engine() {
    cudaStreamSynchronize(stream_);
    cudaFree(devPrices_);
    cudaFreeHost(prices_);
    cudaStreamDestroy(stream_);
  }

  std::vector<float> price(const std::vector<Contract>& book) {
    if (book.size() > max_) throw std::length_error("too many contracts");
    PRICER_CHECK(cudaMemsetAsync(devPrices_, 0, max_ * sizeof(float), stream_));
    std::deque<Staged<Contract>> staged;  // until the stream has been synchronised
    for (size_t i = 0; i < book.size(); ++i) {
      DeviceValue<Contract> contract(staged.emplace_back(slots_, book[i]), stream_);
      simulate<<<64, 256, 0, stream_>>>(contract.get(), devPrices_ + i, paths_);
      PRICER_CHECK(cudaGetLastError());
    }
    PRICER_CHECK(cudaMemcpyAsync(prices_, devPrices_, book.size() * sizeof(float),
                                 cudaMemcpyDeviceToHost, stream_));
    PRICER_CHECK(cudaStreamSynchronize(stream_));
    return std::vector<float>(prices_, prices_ + book.size());
  }

 private:
  size_t max_;
  int paths_;
  SlotPool slots_;
  cudaStream_t stream_ = nullptr;
  float* devPrices_ = nullptr;
  float* prices_ = nullptr;
};

}  // namespace pricer
