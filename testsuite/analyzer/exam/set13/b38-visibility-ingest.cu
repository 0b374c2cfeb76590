// Telescope ingest: packets are reordered on the host into staging chunks and sent
// to the ring of baseline spectra on the device. Chunks come from one pinned slab;
// bursts that do not fit get memory of their own.
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ingest {

inline void cuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Fixed number of equal cells in one pinned allocation.
class PinnedSlab {
 public:
  PinnedSlab(std::size_t cellBytes, int cells) : cellBytes_(cellBytes), busy_(cells) {
    cuda(cudaMallocHost(&base_, cellBytes * cells));
    for (auto& flag : busy_) flag.store(false, std::memory_order_relaxed);
  }
  ~PinnedSlab() { cudaFreeHost(base_); }
  PinnedSlab(const PinnedSlab&) = delete;
  PinnedSlab& operator=(const PinnedSlab&) = delete;

  std::size_t cellBytes() const { return cellBytes_; }

  // Index of a free cell or -1.
  int tryTake() {
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      bool expected = false;
      if (busy_[i].compare_exchange_strong(expected, true, std::memory_order_acquire))
        return static_cast<int>(i);
    }
    return -1;
  }
  std::byte* cell(int i) const { return static_cast<std::byte*>(base_) + i * cellBytes_; }

  // The cell becomes free when the work now in the stream is done.
  void returnAfter(int i, cudaStream_t stream) {
    cuda(cudaLaunchHostFunc(
        stream, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(false, std::memory_order_release); },
        &busy_[i]));
  }

 private:
  std::size_t cellBytes_;
  std::vector<std::atomic<bool>> busy_;
  void* base_ = nullptr;
};

// Staging memory for one upload in one stream.
class StagingChunk {
 public:
  StagingChunk(PinnedSlab& slab, std::size_t bytes, cudaStream_t stream) : slab_(slab), stream_(stream) {
    if (bytes <= slab.cellBytes()) cell_ = slab.tryTake();
    if (cell_ >= 0) {
      data_ = slab.cell(cell_);
    } else {
      void* p = nullptr;
      cuda(cudaHostAlloc(&p, bytes, cudaHostAllocPortable));
      data_ = static_cast<std::byte*>(p);
    }
  }
  ~StagingChunk() {
    if (cell_ >= 0) {
      slab_.returnAfter(cell_, stream_);
    } else {
      cudaFreeHost(data_);
    }
  }
  StagingChunk(const StagingChunk&) = delete;
  StagingChunk& operator=(const StagingChunk&) = delete;

  std::byte* data() { return data_; }
  void send(void* target, std::size_t bytes) {
    cuda(cudaMemcpyAsync(target, data_, bytes, cudaMemcpyHostToDevice, stream_));
  }

 private:
  PinnedSlab& slab_;
  cudaStream_t stream_;
  int cell_ = -1;
  std::byte* data_ = nullptr;
};

struct Packet {
  std::uint32_t channel;
  std::uint32_t samples;
  const std::int8_t* payload;
};

__global__ void unpackSpectra(const std::int8_t* raw, float* spectra, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) spectra[i] += scale * raw[i];
}

class SpectrumIngest {
 public:
  explicit SpectrumIngest(int capacity) : capacity_(capacity), slab_(capacity / 8, 16) {
    cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cuda(cudaMalloc(&raw_, capacity));
    cuda(cudaMalloc(&spectra_, capacity * sizeof(float)));
    cuda(cudaMemsetAsync(spectra_, 0, capacity * sizeof(float), stream_));
  }
  ~SpectrumIngest() {
    cudaStreamSynchronize(stream_);
    cudaFree(spectra_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }
  SpectrumIngest(const SpectrumIngest&) = delete;
  SpectrumIngest& operator=(const SpectrumIngest&) = delete;

  // The packets' payload may be reused when this returns.
  void accept(const std::vector<Packet>& burst) {
    std::size_t bytes = 0;
    for (const Packet& p : burst) bytes += p.samples;
    if (bytes == 0) return;
    if (bytes > std::size_t(capacity_)) throw std::length_error("burst");
    upload(burst, bytes);
    const int n = static_cast<int>(bytes);
    unpackSpectra<<<(n + 255) / 256, 256, 0, stream_>>>(raw_, spectra_, n, 1.f / 127.f);
    cuda(cudaGetLastError());
  }

  std::vector<float> integrate() {
    std::vector<float> out(capacity_);
    cuda(cudaMemcpyAsync(out.data(), spectra_, capacity_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    cuda(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void upload(const std::vector<Packet>& burst, std::size_t bytes) {
    StagingChunk chunk(slab_, bytes, stream_);
    std::byte* write = chunk.data();
    for (const Packet& p : burst) {
      std::memcpy(write, p.payload, p.samples);
      write += p.samples;
    }
    chunk.send(raw_, bytes);
  }

  int capacity_;
  PinnedSlab slab_;
  cudaStream_t stream_ = nullptr;
  std::int8_t* raw_ = nullptr;
  float* spectra_ = nullptr;
};

}  // namespace ingest
