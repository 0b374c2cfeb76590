// Sparse volume residency for a medical volume renderer: bricks are committed
// into a reserved address range on demand and decommitted when out of view.
#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#define DRV(call)                                               \
  do {                                                          \
    CUresult r_ = (call);                                       \
    if (r_ != CUDA_SUCCESS) {                                   \
      const char* s_ = nullptr;                                 \
      cuGetErrorString(r_, &s_);                                \
      std::fprintf(stderr, "%s: %s\n", #call, s_ ? s_ : "?");   \
      std::abort();                                             \
    }                                                           \
  } while (0)

class BrickArena {
 public:
  BrickArena(CUdevice dev, size_t bricks) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = dev;
    DRV(cuMemGetAllocationGranularity(&brick_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    bytes_ = bricks * brick_;
    DRV(cuMemAddressReserve(&base_, bytes_, 0, 0, 0));
  }
  ~BrickArena() {
    DRV(cuCtxSynchronize());
    while (!resident_.empty()) decommit(resident_.begin()->first);
    DRV(cuMemAddressFree(base_, bytes_));
  }

  void commit(size_t brick) {
    if (resident_.count(brick)) return;
    CUmemGenericAllocationHandle h;
    DRV(cuMemCreate(&h, brick_, &prop_, 0));
    DRV(cuMemMap(address(brick), brick_, 0, h, 0));
    CUmemAccessDesc access = {};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV(cuMemSetAccess(address(brick), brick_, &access, 1));
    resident_[brick] = h;
  }

  void decommit(size_t brick) {
    auto it = resident_.find(brick);
    if (it == resident_.end()) return;
    DRV(cuMemUnmap(address(brick), brick_));
    DRV(cuMemRelease(it->second));
    resident_.erase(it);
  }

  bool contains(size_t brick) const { return resident_.count(brick) != 0; }
  CUdeviceptr address(size_t brick) const { return base_ + brick * brick_; }
  size_t brickBytes() const { return brick_; }
  std::vector<size_t> residents() const {
    std::vector<size_t> v;
    for (auto& kv : resident_) v.push_back(kv.first);
    return v;
  }

 private:
  CUmemAllocationProp prop_ = {};
  size_t brick_ = 0, bytes_ = 0;
  CUdeviceptr base_ = 0;
  std::unordered_map<size_t, CUmemGenericAllocationHandle> resident_;
};

class VolumeRenderer {
 public:
  VolumeRenderer(CUdevice dev, CUmodule mod, size_t bricks) : arena_(dev, bricks) {
    DRV(cuModuleGetFunction(&splat_, mod, "splat_brick"));
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~VolumeRenderer() {
    DRV(cuStreamSynchronize(stream_));
    DRV(cuStreamDestroy(stream_));
  }

  void render(const std::vector<size_t>& visible, const std::vector<const void*>& source, CUdeviceptr image) {
    evict(visible);
    for (size_t i = 0; i < visible.size(); ++i) {
      if (!arena_.contains(visible[i])) load(visible[i], source[i]);
      splat(visible[i], image);
    }
  }

  void present(void* host, CUdeviceptr image, size_t bytes) {
    DRV(cuMemcpyDtoHAsync(host, image, bytes, stream_));
    DRV(cuStreamSynchronize(stream_));
  }

 private:
  void load(size_t brick, const void* src) {
    arena_.commit(brick);
    DRV(cuMemcpyHtoDAsync(arena_.address(brick), src, arena_.brickBytes(), stream_));
  }

  void splat(size_t brick, CUdeviceptr image) {
    CUdeviceptr data = arena_.address(brick);
    unsigned id = static_cast<unsigned>(brick);
    void* args[] = {&data, &image, &id};
    DRV(cuLaunchKernel(splat_, 64, 1, 1, 256, 1, 1, 0, stream_, args, nullptr));
  }

  void evict(const std::vector<size_t>& keep) {
    std::unordered_set<size_t> wanted(keep.begin(), keep.end());
    std::vector<size_t> stale;
    for (size_t b : arena_.residents())
      if (!wanted.count(b)) stale.push_back(b);
    if (stale.empty()) return;
    DRV(cuStreamSynchronize(stream_));
    for (size_t b : stale) arena_.decommit(b);
  }

  BrickArena arena_;
  CUfunction splat_ = nullptr;
  CUstream stream_ = nullptr;
};

void renderSweep(VolumeRenderer& r, const std::vector<std::vector<size_t>>& views,
                 const std::vector<std::vector<const void*>>& sources, CUdeviceptr image, void* host, size_t bytes) {
  for (size_t v = 0; v < views.size(); ++v) r.render(views[v], sources[v], image);
  r.present(host, image, bytes);
}
