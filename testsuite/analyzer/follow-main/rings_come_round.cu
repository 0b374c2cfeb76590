// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
//
// Rings and caches whose length the caller chooses come round: made-up callers give short ones, call a function again with
// what it was lent, and give keys that are new each time. Who waits for the event of an earlier call orders the calls.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

__global__ void mix(const float* voices, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * voices[i];
}

// A function that is lent a ring: the event of a return is recorded in the wrong stream.
struct Chunk {
  float* samples = nullptr;
  cudaEvent_t filled = nullptr, returned = nullptr;
};

class ChunkRing {
 public:
  ChunkRing(int samples, int chunks) : samples_(samples), chunks_(chunks) {
    cudaStreamCreateWithFlags(&source_, cudaStreamNonBlocking);
    for (Chunk& each : chunks_) {
      cudaMalloc(&each.samples, samples * sizeof(float));
      cudaEventCreateWithFlags(&each.filled, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&each.returned, cudaEventDisableTiming);
      idle_.push_back(&each);
    }
  }
  ~ChunkRing() { close(); }

  void fill(const float* voices) {
    if (idle_.empty()) throw std::runtime_error("all chunks are out");
    Chunk* chunk = idle_.front();
    idle_.pop_front();
    cudaStreamWaitEvent(source_, chunk->returned, 0);
    mix<<<8, 128, 0, source_>>>(voices, chunk->samples, samples_);  // FIRES: cross-stream-race
    cudaEventRecord(chunk->filled, source_);
    ready_.push_back(chunk);
  }
  Chunk* next(cudaStream_t stream) {
    if (ready_.empty()) return nullptr;
    Chunk* chunk = ready_.front();
    ready_.pop_front();
    cudaStreamWaitEvent(stream, chunk->filled, 0);
    return chunk;
  }
  void give_back(Chunk* chunk, cudaStream_t stream) {
#ifdef FIXED
    cudaEventRecord(chunk->returned, stream);
#else
    cudaEventRecord(chunk->returned, source_);
    (void)stream;
#endif
    idle_.push_back(chunk);
  }
  int samples() const { return samples_; }

 private:
  void close() {
    cudaDeviceSynchronize();
    for (Chunk& each : chunks_) {
      cudaFree(each.samples);
      cudaEventDestroy(each.filled);
      cudaEventDestroy(each.returned);
    }
    cudaStreamDestroy(source_);
  }
  int samples_;
  cudaStream_t source_ = nullptr;
  std::vector<Chunk> chunks_;
  std::deque<Chunk*> idle_, ready_;
};

bool play(ChunkRing& ring, float* speaker, cudaStream_t stream) {
  Chunk* chunk = ring.next(stream);
  if (chunk == nullptr) return false;
  cudaMemcpyAsync(speaker, chunk->samples, ring.samples() * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  ring.give_back(chunk, stream);
  return true;
}

// A class whose destructor calls a method of its own, a length that is asked for, and a callback that fills host memory.
class Glyphs {
 public:
  static constexpr std::size_t kBytes = 1024;
  static constexpr std::size_t kMost = 12;
  using Raster = std::function<void(unsigned long key, unsigned char* pixels)>;

  Glyphs(int slots, Raster raster) : slots_(slots), raster_(std::move(raster)) {
    cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&draw_, cudaStreamNonBlocking);
    for (Slot& each : slots_) {
      cudaMalloc(&each.device, kBytes);
      cudaMallocHost(&each.host, kBytes);
      cudaEventCreateWithFlags(&each.loaded, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&each.drawn, cudaEventDisableTiming);
      order_.push_back(&each);
    }
  }
  ~Glyphs() { clear(); }
  Glyphs(const Glyphs&) = delete;

  void draw(const std::vector<unsigned long>& keys, const float* shape, float* frame) {
    if (keys.size() > kMost || keys.size() > slots_.size()) throw std::length_error("too many glyphs");
    for (const unsigned long key : keys) {
      Slot& slot = bind(key);
#ifdef FIXED
      mix<<<1, 128, 0, draw_>>>(reinterpret_cast<const float*>(slot.device), frame, 128);
      cudaEventRecord(slot.drawn, draw_);
#else
      cudaEventRecord(slot.drawn, draw_);
      mix<<<1, 128, 0, draw_>>>(reinterpret_cast<const float*>(slot.device), frame, 128);
#endif
    }
    (void)shape;
  }
  void finish() { cudaStreamSynchronize(draw_); }

 private:
  struct Slot {
    unsigned long key = ~0UL;
    unsigned char *device = nullptr, *host = nullptr;
    cudaEvent_t loaded = nullptr, drawn = nullptr;
  };
  Slot& bind(unsigned long key) {
    if (const auto known = by_key_.find(key); known != by_key_.end()) return *known->second;
    Slot* slot = order_.front();
    order_.pop_front();
    order_.push_back(slot);
    by_key_.erase(slot->key);
    cudaEventSynchronize(slot->loaded);
    raster_(key, slot->host);
    cudaStreamWaitEvent(load_, slot->drawn, 0);
    cudaMemcpyAsync(slot->device, slot->host, kBytes, cudaMemcpyHostToDevice, load_);  // FIRES: cross-stream-race
    cudaEventRecord(slot->loaded, load_);
    cudaStreamWaitEvent(draw_, slot->loaded, 0);
    by_key_[slot->key = key] = slot;
    return *slot;
  }
  void clear() {
    cudaStreamSynchronize(load_);
    cudaStreamSynchronize(draw_);
    for (Slot& each : slots_) {
      cudaFree(each.device);
      cudaFreeHost(each.host);
    }
  }
  std::vector<Slot> slots_;
  Raster raster_;
  std::list<Slot*> order_;
  std::map<unsigned long, Slot*> by_key_;
  cudaStream_t load_ = nullptr, draw_ = nullptr;
};

// A pool for all: another user's block is written while the first one's copy still reads it.
class Blocks {
 public:
  explicit Blocks(std::size_t block_bytes) : bytes_(block_bytes) {}
  ~Blocks() {
    for (void* each : all_) cudaFreeHost(each);
  }
  void* take() {
    const std::lock_guard<std::mutex> guard(lock_);
    if (free_.empty()) {
      void* fresh = nullptr;
      cudaMallocHost(&fresh, bytes_);
      all_.push_back(fresh);
      return fresh;
    }
    void* block = free_.back();
    free_.pop_back();
    return block;
  }
  void give(void* block) {
    const std::lock_guard<std::mutex> guard(lock_);
    free_.push_back(block);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::mutex lock_;
  std::vector<void*> all_, free_;
};

void send_weights(const std::vector<double>& weights, double* device, Blocks& blocks, cudaStream_t stream) {
  constexpr std::size_t kBands = 96;
  if (weights.size() != kBands) throw std::invalid_argument("there are 96 bands");
  if (kBands * sizeof(double) > blocks.bytes()) throw std::length_error("the blocks are too small");
  auto* block = static_cast<double*>(blocks.take());
  for (std::size_t i = 0; i < kBands; ++i) block[i] = 2.0 * weights[i];  // FIRES: host-write-before-done
  cudaMemcpyAsync(device, block, kBands * sizeof(double), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  blocks.give(block);
}
