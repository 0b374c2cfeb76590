// Sparse voxel tiles in one reserved address range; physical pages come and go with the camera.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

namespace voxel {

void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* msg = nullptr;
  cuGetErrorString(r, &msg);
  std::fprintf(stderr, "%s: %s\n", what, msg ? msg : "?");
  std::abort();
}
#define DRV(x) ::voxel::drv((x), #x)

using TileKey = std::uint64_t;

class TileArena {
 public:
  TileArena(CUdevice dev, std::size_t tile_bytes, std::size_t max_tiles) : max_tiles_(max_tiles) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = dev;
    std::size_t gran = 0;
    DRV(cuMemGetAllocationGranularity(&gran, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    tile_ = (tile_bytes + gran - 1) / gran * gran;
    DRV(cuMemAddressReserve(&base_, tile_ * max_tiles_, 0, 0, 0));
    for (std::size_t i = 0; i < max_tiles_; ++i) free_.push_back(max_tiles_ - 1 - i);
  }

  ~TileArena() {
    while (!tiles_.empty()) evict(tiles_.begin()->first);
    DRV(cuMemAddressFree(base_, tile_ * max_tiles_));
  }

  TileArena(const TileArena&) = delete;
  TileArena& operator=(const TileArena&) = delete;

  CUdeviceptr fault_in(TileKey key) {
    auto it = tiles_.find(key);
    if (it != tiles_.end()) return address(it->second.slot);
    Tile t{};
    t.slot = free_.back();
    free_.pop_back();
    DRV(cuMemCreate(&t.pages, tile_, &prop_, 0));
    CUdeviceptr va = address(t.slot);
    DRV(cuMemMap(va, tile_, 0, t.pages, 0));
    CUmemAccessDesc rw{};
    rw.location = prop_.location;
    rw.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV(cuMemSetAccess(va, tile_, &rw, 1));
    tiles_.emplace(key, t);
    return va;
  }

  void evict(TileKey key) {
    Tile t = tiles_.at(key);
    DRV(cuMemUnmap(address(t.slot), tile_));
    DRV(cuMemRelease(t.pages));
    free_.push_back(t.slot);
    tiles_.erase(key);
  }

  bool resident(TileKey key) const { return tiles_.count(key) != 0; }
  bool full() const { return free_.empty(); }
  std::size_t tile_bytes() const { return tile_; }

 private:
  struct Tile {
    std::size_t slot;
    CUmemGenericAllocationHandle pages;
  };
  CUdeviceptr address(std::size_t slot) const { return base_ + slot * tile_; }

  CUmemAllocationProp prop_{};
  std::size_t tile_ = 0, max_tiles_;
  CUdeviceptr base_ = 0;
  std::vector<std::size_t> free_;
  std::unordered_map<TileKey, Tile> tiles_;
};

class TileBaker {
 public:
  TileBaker(CUdevice dev, CUfunction shade, std::size_t tile_bytes, std::size_t budget)
      : arena_(dev, tile_bytes, budget), shade_(shade) {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  ~TileBaker() {
    DRV(cuStreamSynchronize(stream_));
    DRV(cuStreamDestroy(stream_));
  }

  // Relights every tile in view; tiles that left the frustum give their pages to the new ones.
  void bake(const std::vector<TileKey>& view, float sun_elevation) {
    for (TileKey key : view) {
      bool fresh = !arena_.resident(key);
      if (fresh && arena_.full()) make_room();
      CUdeviceptr tile = arena_.fault_in(key);
      if (fresh) {
        DRV(cuMemsetD32Async(tile, 0, arena_.tile_bytes() / 4, stream_));
        age_.push_back(key);
      }
      relight(tile, sun_elevation);
    }
  }

  void finish() { DRV(cuStreamSynchronize(stream_)); }

 private:
  void relight(CUdeviceptr tile, float sun) {
    unsigned n = static_cast<unsigned>(arena_.tile_bytes() / 16);
    void* args[] = {&tile, &sun, &n};
    DRV(cuLaunchKernel(shade_, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream_, args, nullptr));
  }

  void make_room() {
    DRV(cuStreamSynchronize(stream_));
    std::size_t drop = age_.size() / 4 + 1;
    for (std::size_t i = 0; i < drop; ++i) arena_.evict(age_[i]);
    age_.erase(age_.begin(), age_.begin() + static_cast<std::ptrdiff_t>(drop));
  }

  TileArena arena_;
  CUfunction shade_;
  CUstream stream_{};
  std::vector<TileKey> age_;
};

}  // namespace voxel

int main(int argc, char** argv) {
  const std::string image = argc > 1 ? argv[1] : "relight.cubin";
  DRV(cuInit(0));
  CUdevice dev{};
  CUcontext ctx{};
  DRV(cuDeviceGet(&dev, 0));
  DRV(cuDevicePrimaryCtxRetain(&ctx, dev));
  DRV(cuCtxSetCurrent(ctx));
  CUmodule mod{};
  CUfunction shade{};
  DRV(cuModuleLoad(&mod, image.c_str()));
  DRV(cuModuleGetFunction(&shade, mod, "relight_tile"));
  {
    voxel::TileBaker baker(dev, shade, std::size_t{4} << 20, 64);
    for (std::uint64_t step = 0; step < 200; ++step) {
      std::vector<voxel::TileKey> view;
      for (std::uint64_t t = 0; t < 48; ++t) view.push_back(step * 8 + t);
      baker.bake(view, 0.2f + 0.001f * static_cast<float>(step));
    }
    baker.finish();
  }
  DRV(cuModuleUnload(mod));
  DRV(cuDevicePrimaryCtxRelease(dev));
  return 0;
}
