// Occupancy map of a mobile robot.  The map covers a long corridor of address space; only chunks near the
// robot are backed by physical memory.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace nav {

inline void cu(CUresult r, const char* where) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(r, &text);
  throw std::runtime_error(std::string(where) + ": " + (text ? text : "unknown"));
}
#define CU(call) ::nav::cu((call), #call)

struct RayBatch {
  CUdeviceptr rays;
  unsigned count;
};

// A reserved range of virtual addresses, backed chunk by chunk.
class SparseRange {
 public:
  SparseRange(int device, std::size_t chunks) : device_(device) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    CU(cuMemGetAllocationGranularity(&chunk_bytes_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    bytes_ = chunks * chunk_bytes_;
    CU(cuMemAddressReserve(&base_, bytes_, 0, 0, 0));
  }
  ~SparseRange() {
    while (!backed_.empty()) drop(backed_.begin()->first);
    cuMemAddressFree(base_, bytes_);
  }
  SparseRange(const SparseRange&) = delete;
  SparseRange& operator=(const SparseRange&) = delete;

  bool is_backed(std::size_t chunk) const { return backed_.count(chunk) != 0; }

  void back(std::size_t chunk) {
    CUmemGenericAllocationHandle handle = 0;
    CU(cuMemCreate(&handle, chunk_bytes_, &prop_, 0));
    CU(cuMemMap(address(chunk), chunk_bytes_, 0, handle, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess(address(chunk), chunk_bytes_, &access, 1));
    backed_.emplace(chunk, handle);
  }

  void drop(std::size_t chunk) {
    auto it = backed_.find(chunk);
    if (it == backed_.end()) return;
    CU(cuMemUnmap(address(chunk), chunk_bytes_));
    CU(cuMemRelease(it->second));
    backed_.erase(it);
  }

  std::vector<std::size_t> backed_before(std::size_t chunk) const {
    std::vector<std::size_t> out;
    for (const auto& entry : backed_)
      if (entry.first < chunk) out.push_back(entry.first);
    return out;
  }

  CUdeviceptr address(std::size_t chunk) const { return base_ + chunk * chunk_bytes_; }
  std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  int device_;
  CUmemAllocationProp prop_{};
  std::size_t chunk_bytes_ = 0;
  std::size_t bytes_ = 0;
  CUdeviceptr base_ = 0;
  std::map<std::size_t, CUmemGenericAllocationHandle> backed_;
};

class CorridorMap {
 public:
  CorridorMap(int device, CUfunction carve, std::size_t chunks) : range_(device, chunks), carve_(carve) {
    CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~CorridorMap() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  CorridorMap(const CorridorMap&) = delete;
  CorridorMap& operator=(const CorridorMap&) = delete;

  // Adds one scan to the chunk in which the robot stands.  The rays must stay valid until settle().
  void integrate(std::size_t chunk, const RayBatch& batch) {
    if (!range_.is_backed(chunk)) {
      range_.back(chunk);
      CU(cuMemsetD8Async(range_.address(chunk), 0, range_.chunk_bytes(), stream_));
    }
    CUdeviceptr cells = range_.address(chunk);
    CUdeviceptr rays = batch.rays;
    unsigned count = batch.count;
    void* args[] = {&cells, &rays, &count};
    CU(cuLaunchKernel(carve_, (count + 127) / 128, 1, 1, 128, 1, 1, 0, stream_, args, nullptr));
  }

  // Everything behind `chunk` is out of sensor range for good.
  void forget_behind(std::size_t chunk) {
    CU(cuStreamSynchronize(stream_));
    for (std::size_t old : range_.backed_before(chunk)) range_.drop(old);
  }

  void settle() { CU(cuStreamSynchronize(stream_)); }

 private:
  SparseRange range_;
  CUfunction carve_;
  CUstream stream_ = nullptr;
};

// Replays a recorded drive: a few scans per chunk, then on to the next one.
void replay_drive(CorridorMap& map, const std::vector<std::vector<RayBatch>>& scans_by_chunk) {
  for (std::size_t chunk = 0; chunk < scans_by_chunk.size(); ++chunk) {
    for (const RayBatch& batch : scans_by_chunk[chunk]) map.integrate(chunk, batch);
    map.forget_behind(chunk);
  }
  map.settle();
}

}  // namespace nav
