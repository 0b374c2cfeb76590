// Sparse volume of a microscope viewer. Bricks are mapped into one reserved address range on
// demand and given back when the focus moves on. Every brick remembers the last work that
// used it.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace scope {

inline void cu(CUresult rc) {
  if (rc == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(rc, &name);
  throw std::runtime_error(name ? name : "CUDA driver error");
}

using Voxel = std::uint16_t;

__global__ void blend(Voxel* __restrict__ brick, const Voxel* __restrict__ image, std::size_t voxels,
                      float weight) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < voxels)
    brick[i] = static_cast<Voxel>(brick[i] + weight * (static_cast<float>(image[i]) - brick[i]));
}

__global__ void brightest(const Voxel* __restrict__ brick, std::size_t voxels, unsigned* __restrict__ out) {
  unsigned best = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < voxels;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    best = max(best, static_cast<unsigned>(brick[i]));
  atomicMax(out, best);
}

struct Brick {
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle memory = 0;
  CUevent last_use = nullptr;
};

class SparseVolume {
 public:
  SparseVolume(int device, std::size_t bricks) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    cu(cuMemGetAllocationGranularity(&brick_bytes_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    cu(cuMemAddressReserve(&range_, bricks * brick_bytes_, 0, 0, 0));
    range_bytes_ = bricks * brick_bytes_;
    cu(cuStreamCreate(&write_, CU_STREAM_NON_BLOCKING));
    cu(cuStreamCreate(&read_, CU_STREAM_NON_BLOCKING));
  }
  ~SparseVolume() {
    while (!resident_.empty()) evict(resident_.begin()->first);
    cuMemAddressFree(range_, range_bytes_);
    cuStreamDestroy(read_);
    cuStreamDestroy(write_);
  }
  SparseVolume(const SparseVolume&) = delete;
  SparseVolume& operator=(const SparseVolume&) = delete;

  std::size_t voxels() const { return brick_bytes_ / sizeof(Voxel); }

  // Blends one image block, host-complete device memory that outlives the volume, into a brick.
  void update(std::size_t index, const Voxel* image, float weight) {
    Brick& b = resident(index);
    cu(cuStreamWaitEvent(write_, b.last_use, 0));
    blend<<<grid(), 256, 0, reinterpret_cast<cudaStream_t>(write_)>>>(
        reinterpret_cast<Voxel*>(b.base), image, voxels(), weight);
    cu(cuEventRecord(b.last_use, write_));
  }

  // Largest voxel of a resident brick.
  unsigned peak(std::size_t index) {
    Brick& b = resident(index);
    CUdeviceptr out = 0;
    unsigned host = 0;
    cu(cuStreamWaitEvent(read_, b.last_use, 0));
    cu(cuMemAllocAsync(&out, sizeof(unsigned), read_));
    cu(cuMemsetD32Async(out, 0, 1, read_));
    brightest<<<64, 256, 0, reinterpret_cast<cudaStream_t>(read_)>>>(
        reinterpret_cast<const Voxel*>(b.base), voxels(), reinterpret_cast<unsigned*>(out));
    cu(cuEventRecord(b.last_use, read_));
    cu(cuMemcpyDtoHAsync(&host, out, sizeof(unsigned), read_));
    cu(cuMemFreeAsync(out, read_));
    cu(cuStreamSynchronize(read_));
    return host;
  }

  void evict(std::size_t index) {
    const auto it = resident_.find(index);
    if (it == resident_.end()) return;
    const Brick b = it->second;
    resident_.erase(it);
    cu(cuEventSynchronize(b.last_use));
    cu(cuMemUnmap(b.base, brick_bytes_));
    cu(cuMemRelease(b.memory));
    cu(cuEventDestroy(b.last_use));
  }

 private:
  unsigned grid() const { return static_cast<unsigned>((voxels() + 255) / 256); }

  Brick& resident(std::size_t index) {
    const auto it = resident_.find(index);
    return it != resident_.end() ? it->second : map_brick(index);
  }

  Brick& map_brick(std::size_t index) {
    Brick b;
    b.base = range_ + index * brick_bytes_;
    cu(cuMemCreate(&b.memory, brick_bytes_, &prop_, 0));
    cu(cuMemMap(b.base, brick_bytes_, 0, b.memory, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    cu(cuMemSetAccess(b.base, brick_bytes_, &access, 1));
    cu(cuEventCreate(&b.last_use, CU_EVENT_DISABLE_TIMING));
    cu(cuMemsetD16Async(b.base, 0, voxels(), write_));
    cu(cuEventRecord(b.last_use, write_));
    return resident_.emplace(index, b).first->second;
  }

  CUmemAllocationProp prop_{};
  CUdeviceptr range_ = 0;
  std::size_t range_bytes_ = 0;
  std::size_t brick_bytes_ = 0;
  CUstream write_ = nullptr;
  CUstream read_ = nullptr;
  std::map<std::size_t, Brick> resident_;
};

// Peaks of a focus sweep; bricks behind the focus are dropped.
std::vector<unsigned> sweep(SparseVolume& volume, const std::vector<const Voxel*>& images) {
  std::vector<unsigned> peaks;
  for (std::size_t i = 0; i < images.size(); ++i) {
    volume.update(i, images[i], 0.5f);
    if (i + 1 < images.size()) volume.update(i + 1, images[i], 0.25f);
    peaks.push_back(volume.peak(i));
    if (i > 0) volume.evict(i - 1);
  }
  return peaks;
}

}  // namespace scope
