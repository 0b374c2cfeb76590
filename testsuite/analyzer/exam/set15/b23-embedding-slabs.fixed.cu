// Slab allocator behind the embedding server. Shards live on several GPUs; a slab of page-locked memory that a shard has
// finished with goes back to the free list together with the event that tells when its last upload is done.
#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace embed {

inline void check(cudaError_t err, const char* what) {
  if (err != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(err));
}

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~DeviceGuard() { cudaSetDevice(previous_); }

 private:
  int previous_ = 0;
};

class EventPool {
 public:
  explicit EventPool(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      cudaEvent_t event;
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      free_.push_back(event);
    }
  }
  ~EventPool() {
    for (cudaEvent_t event : free_) cudaEventDestroy(event);
  }
  cudaEvent_t take() {
    assert(!free_.empty());
    cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }
  void give(cudaEvent_t event) { free_.push_back(event); }

 private:
  std::vector<cudaEvent_t> free_;
};

struct Slab {
  float* host = nullptr;
  cudaEvent_t last_use = nullptr;
  int device = 0;
};

class SlabPool {
 public:
  static constexpr std::size_t kSlabFloats = 1u << 20;

  explicit SlabPool(int slabs) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int device = 0; device < devices; ++device) {
      DeviceGuard guard(device);
      events_.push_back(std::make_unique<EventPool>(slabs));
    }
    for (int i = 0; i < slabs; ++i) {
      Slab slab;
      check(cudaHostAlloc(reinterpret_cast<void**>(&slab.host), kSlabFloats * sizeof(float), cudaHostAllocPortable),
            "cudaHostAlloc");
      free_.push_back(slab);
    }
  }
  ~SlabPool() {
    for (Slab& slab : free_) {
      if (slab.last_use) cudaEventSynchronize(slab.last_use);
      if (slab.last_use) events_[slab.device]->give(slab.last_use);
      cudaFreeHost(slab.host);
    }
  }

  Slab acquire() {
    assert(!free_.empty());
    Slab slab = free_.back();
    free_.pop_back();
    if (slab.last_use) {
      check(cudaEventSynchronize(slab.last_use), "cudaEventSynchronize");
      events_[slab.device]->give(slab.last_use);
      slab.last_use = nullptr;
    }
    return slab;
  }

  void release(Slab slab, cudaStream_t stream) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    slab.last_use = events_.at(device)->take();
    slab.device = device;
    check(cudaEventRecord(slab.last_use, stream), "cudaEventRecord");
    free_.push_back(slab);
  }

 private:
  std::vector<std::unique_ptr<EventPool>> events_;  // by device
  std::vector<Slab> free_;
};

class Shard {
 public:
  Shard(int device, std::size_t rows) : device_(device), rows_(rows) {
    DeviceGuard guard(device_);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMalloc(reinterpret_cast<void**>(&table_), rows_ * SlabPool::kSlabFloats * sizeof(float)), "cudaMalloc");
  }
  ~Shard() {
    DeviceGuard guard(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(table_);
    cudaStreamDestroy(stream_);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void load_row(SlabPool& pool, std::size_t row, float value) {
    DeviceGuard guard(device_);
    Slab slab = pool.acquire();
    std::fill_n(slab.host, SlabPool::kSlabFloats, value);
    check(cudaMemcpyAsync(table_ + row * SlabPool::kSlabFloats, slab.host, SlabPool::kSlabFloats * sizeof(float),
                          cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
    pool.release(slab, stream_);
  }

  void wait() {
    DeviceGuard guard(device_);
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

 private:
  int device_;
  std::size_t rows_;
  cudaStream_t stream_ = nullptr;
  float* table_ = nullptr;
};

}  // namespace embed

int main() {
  int devices = 0;
  embed::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) return 0;

  embed::check(cudaSetDevice(0), "cudaSetDevice");
  embed::SlabPool pool(2);
  std::vector<std::unique_ptr<embed::Shard>> shards;
  shards.push_back(std::make_unique<embed::Shard>(0, 8));
  shards.push_back(std::make_unique<embed::Shard>(1, 8));

  for (std::size_t row = 0; row < 8; ++row) {
    for (auto& shard : shards) shard->load_row(pool, row, static_cast<float>(row));
  }
  for (auto& shard : shards) shard->wait();
  std::printf("loaded %zu shards\n", shards.size());
  return 0;
}
