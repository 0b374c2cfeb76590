// Re-expands archived seismic gathers. Block descriptors travel through page-locked staging.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void must(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

struct BlockDesc {
  std::uint32_t offset;
  std::uint32_t samples;
  float scale;
  float bias;
};

constexpr std::size_t kSlotBytes = 256 * sizeof(BlockDesc);
constexpr std::size_t kSpillBytes = 64 * kSlotBytes;

struct Slot {
  void* mem = nullptr;
  cudaEvent_t last_use = nullptr;
  bool taken = false;
};

struct Lease {
  void* mem;
  int slot;            // -1: spill area
  std::size_t mark;    // spill position to go back to
};

class Staging {
 public:
  Staging() {
    for (auto& s : slots_) {
      must(cudaMallocHost(&s.mem, kSlotBytes), "slot");
      must(cudaEventCreateWithFlags(&s.last_use, cudaEventDisableTiming), "event");
    }
    must(cudaMallocHost(&spill_, kSpillBytes), "spill");
  }
  ~Staging() {
    for (auto& s : slots_) {
      cudaEventSynchronize(s.last_use);
      cudaEventDestroy(s.last_use);
      cudaFreeHost(s.mem);
    }
    cudaFreeHost(spill_);
  }

  Lease acquire(std::size_t bytes) {
    if (bytes <= kSlotBytes) {
      for (int i = 0; i < int(slots_.size()); ++i) {
        Slot& s = slots_[i];
        if (!s.taken && cudaEventQuery(s.last_use) == cudaSuccess) {
          s.taken = true;
          return {s.mem, i, 0};
        }
      }
    }
    Lease l{static_cast<char*>(spill_) + spill_top_, -1, spill_top_};
    spill_top_ += bytes;
    if (spill_top_ > kSpillBytes) std::abort();
    return l;
  }

  void release(const Lease& l, cudaStream_t stream) {
    if (l.slot < 0) {
      must(cudaStreamSynchronize(stream), "spill");
      spill_top_ = l.mark;
      return;
    }
    Slot& s = slots_[l.slot];
    must(cudaEventRecord(s.last_use, stream), "record");
    s.taken = false;
  }

 private:
  std::array<Slot, 4> slots_;
  void* spill_ = nullptr;
  std::size_t spill_top_ = 0;
};

__global__ void expand(const std::int16_t* packed, const BlockDesc* desc, float* out, std::uint32_t stride) {
  const BlockDesc d = desc[blockIdx.x];
  for (std::uint32_t i = threadIdx.x; i < d.samples; i += blockDim.x)
    out[blockIdx.x * stride + i] = packed[d.offset + i] * d.scale + d.bias;
}

class GatherReader {
 public:
  GatherReader(const std::int16_t* packed, std::uint32_t stride) : packed_(packed), stride_(stride) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  }
  ~GatherReader() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void enqueue(const std::vector<BlockDesc>& blocks, float* out) {
    const std::size_t bytes = blocks.size() * sizeof(BlockDesc);
    Lease l = staging_.acquire(bytes);
    std::copy(blocks.begin(), blocks.end(), static_cast<BlockDesc*>(l.mem));
    void* dev = nullptr;
    must(cudaMallocAsync(&dev, bytes, stream_), "desc");
    must(cudaMemcpyAsync(dev, l.mem, bytes, cudaMemcpyHostToDevice, stream_), "h2d");
    expand<<<unsigned(blocks.size()), 128, 0, stream_>>>(packed_, static_cast<BlockDesc*>(dev), out, stride_);
    must(cudaGetLastError(), "expand");
    must(cudaFreeAsync(dev, stream_), "free");
    staging_.release(l, stream_);
  }

  void drain() { must(cudaStreamSynchronize(stream_), "drain"); }

 private:
  Staging staging_;
  const std::int16_t* packed_;
  std::uint32_t stride_;
  cudaStream_t stream_{};
};

}  // namespace

int main() {
  constexpr std::uint32_t kStride = 4096, kBlocks = 200, kGathers = 64;
  std::int16_t* packed = nullptr;
  float* out = nullptr;
  must(cudaMalloc(&packed, kBlocks * kStride * sizeof(std::int16_t)), "packed");
  must(cudaMemset(packed, 1, kBlocks * kStride * sizeof(std::int16_t)), "packed");
  must(cudaMalloc(&out, std::size_t(kGathers) * kBlocks * kStride * sizeof(float)), "out");
  must(cudaDeviceSynchronize(), "setup");
  {
    GatherReader reader(packed, kStride);
    for (std::uint32_t g = 0; g < kGathers; ++g) {
      std::vector<BlockDesc> blocks;
      for (std::uint32_t b = 0; b < kBlocks; ++b) blocks.push_back({b * kStride, kStride - g, 0.5f + g, float(b)});
      reader.enqueue(blocks, out + std::size_t(g) * kBlocks * kStride);
    }
    reader.drain();
  }
  must(cudaFree(out), "free");
  must(cudaFree(packed), "free");
}
