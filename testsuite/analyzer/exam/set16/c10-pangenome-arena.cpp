// Growable device array for a pangenome graph.  Chunks that are no longer needed are retired first and
// unmapped when the work that may still touch them is known to be over.
#include <cuda.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace pangenome {

inline void check(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(r, &text);
  throw std::runtime_error(std::string(what) + ": " + (text ? text : "unknown"));
}
#define DRV(call) ::pangenome::check((call), #call)

class GrowableArray {
 public:
  GrowableArray(CUdevice device, size_t maxBytes) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    DRV(cuMemGetAllocationGranularity(&chunk_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    reserved_ = (maxBytes + chunk_ - 1) / chunk_ * chunk_;
    DRV(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  ~GrowableArray() {
    cuStreamSynchronize(stream_);
    reap(/*wait=*/true);
    while (!live_.empty()) unmapLast(live_);
    cuMemAddressFree(base_, reserved_);
    cuStreamDestroy(stream_);
  }

  GrowableArray(const GrowableArray&) = delete;
  GrowableArray& operator=(const GrowableArray&) = delete;

  // Sets the size in whole chunks; new chunks are zero.
  void resize(size_t bytes) {
    const size_t chunks = (bytes + chunk_ - 1) / chunk_;
    if (chunks < live_.size()) {
      retire(chunks);
    } else if (chunks > live_.size()) {
      reap(/*wait=*/true);
      extend(chunks);
    }
  }

  // Moves `bytes` from `from` to `to` (no overlap), in stream order.
  void move(size_t to, size_t from, size_t bytes) { DRV(cuMemcpyDtoDAsync(base_ + to, base_ + from, bytes, stream_)); }

  CUstream stream() const { return stream_; }
  size_t capacity() const { return live_.size() * chunk_; }

 private:
  struct Chunk {
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
  };
  struct Retired {
    std::vector<Chunk> chunks;
    CUevent lastUse;
  };

  void extend(size_t chunks) {
    const size_t old = live_.size();
    while (live_.size() < chunks) {
      Chunk c;
      c.at = base_ + live_.size() * chunk_;
      DRV(cuMemCreate(&c.handle, chunk_, &prop_, 0));
      DRV(cuMemMap(c.at, chunk_, 0, c.handle, 0));
      CUmemAccessDesc access{};
      access.location = prop_.location;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      DRV(cuMemSetAccess(c.at, chunk_, &access, 1));
      live_.push_back(c);
    }
    DRV(cuMemsetD32Async(base_ + old * chunk_, 0, (chunks - old) * chunk_ / 4, stream_));
  }

  void retire(size_t keep) {
    Retired r;
    r.chunks.assign(live_.begin() + static_cast<std::ptrdiff_t>(keep), live_.end());
    live_.resize(keep);
    DRV(cuEventCreate(&r.lastUse, CU_EVENT_DISABLE_TIMING));
    DRV(cuEventRecord(r.lastUse, stream_));
    retired_.push_back(std::move(r));
    reap(/*wait=*/false);
  }

  void reap(bool wait) {
    while (!retired_.empty()) {
      Retired& r = retired_.front();
      if (wait) {
        cuEventSynchronize(r.lastUse);
      } else if (cuEventQuery(r.lastUse) != CUDA_SUCCESS) {
        return;
      }
      while (!r.chunks.empty()) unmapLast(r.chunks);
      cuEventDestroy(r.lastUse);
      retired_.pop_front();
    }
  }

  void unmapLast(std::vector<Chunk>& chunks) {
    cuMemUnmap(chunks.back().at, chunk_);
    cuMemRelease(chunks.back().handle);
    chunks.pop_back();
  }

  CUmemAllocationProp prop_{};
  CUdeviceptr base_ = 0;
  size_t chunk_ = 0, reserved_ = 0;
  CUstream stream_{};
  std::vector<Chunk> live_;
  std::deque<Retired> retired_;
};

// Drops the first half of the nodes: the second half moves down and the tail is given back.
void dropOlderHalf(GrowableArray& nodes) {
  const size_t half = nodes.capacity() / 2;
  if (half == 0) return;
  nodes.move(0, half, half);
  nodes.resize(half);
}

}  // namespace pangenome
