// Sliding terrain window for a planetary lander simulator.  Elevation tiles ahead of the lander get physical
// memory, tiles behind it give theirs back.
#include <cuda.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lander {

inline void expect(CUresult r, const char* call) {
  if (r == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  throw std::runtime_error(std::string(call) + ": " + (name ? name : "?"));
}
#define EXPECT_CU(call) ::lander::expect((call), #call)

class TileRange {
 public:
  TileRange(int device, std::size_t tiles) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    EXPECT_CU(cuMemGetAllocationGranularity(&tile_bytes_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    total_ = tiles * tile_bytes_;
    EXPECT_CU(cuMemAddressReserve(&base_, total_, 0, 0, 0));
  }
  ~TileRange() {
    while (!mapped_.empty()) unmap(mapped_.begin()->first);
    cuMemAddressFree(base_, total_);
  }
  TileRange(const TileRange&) = delete;
  TileRange& operator=(const TileRange&) = delete;

  void map(std::size_t tile) {
    if (mapped_.count(tile)) throw std::logic_error("tile is still resident");
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_CU(cuMemCreate(&handle, tile_bytes_, &prop_, 0));
    EXPECT_CU(cuMemMap(at(tile), tile_bytes_, 0, handle, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_CU(cuMemSetAccess(at(tile), tile_bytes_, &access, 1));
    mapped_.emplace(tile, handle);
  }
  void unmap(std::size_t tile) {
    auto it = mapped_.find(tile);
    if (it == mapped_.end()) return;
    EXPECT_CU(cuMemUnmap(at(tile), tile_bytes_));
    EXPECT_CU(cuMemRelease(it->second));
    mapped_.erase(it);
  }

  CUdeviceptr at(std::size_t tile) const { return base_ + tile * tile_bytes_; }
  std::size_t tile_bytes() const { return tile_bytes_; }

 private:
  CUmemAllocationProp prop_{};
  std::size_t tile_bytes_ = 0;
  std::size_t total_ = 0;
  CUdeviceptr base_ = 0;
  std::map<std::size_t, CUmemGenericAllocationHandle> mapped_;
};

class Terrain {
 public:
  Terrain(int device, CUfunction shade, std::size_t tiles) : range_(device, tiles), shade_(shade) {
    EXPECT_CU(cuStreamCreate(&upload_, CU_STREAM_NON_BLOCKING));
    EXPECT_CU(cuStreamCreate(&render_, CU_STREAM_NON_BLOCKING));
    EXPECT_CU(cuEventCreate(&uploaded_, CU_EVENT_DISABLE_TIMING));
  }
  ~Terrain() {
    cuStreamSynchronize(upload_);
    cuStreamSynchronize(render_);
    for (Leaving& l : leaving_) cuEventDestroy(l.last_frame);
    cuEventDestroy(uploaded_);
    cuStreamDestroy(render_);
    cuStreamDestroy(upload_);
  }
  Terrain(const Terrain&) = delete;
  Terrain& operator=(const Terrain&) = delete;

  // `pinned_heights` is one page-locked tile; it stays untouched for the whole flight.
  void enter(std::size_t tile, const void* pinned_heights) {
    range_.map(tile);
    EXPECT_CU(cuMemcpyHtoDAsync(range_.at(tile), pinned_heights, range_.tile_bytes(), upload_));
    EXPECT_CU(cuEventRecord(uploaded_, upload_));
    EXPECT_CU(cuStreamWaitEvent(render_, uploaded_, 0));
  }

  void draw(std::size_t tile, CUdeviceptr image, unsigned pixels) {
    CUdeviceptr heights = range_.at(tile);
    void* args[] = {&heights, &image, &pixels};
    EXPECT_CU(cuLaunchKernel(shade_, (pixels + 255) / 256, 1, 1, 256, 1, 1, 0, render_, args, nullptr));
  }

  // The tile will not be drawn any more; its memory goes back once the frames in flight are through.
  void leave(std::size_t tile) {
    CUevent last_frame = nullptr;
    EXPECT_CU(cuEventCreate(&last_frame, CU_EVENT_DISABLE_TIMING));
    EXPECT_CU(cuEventRecord(last_frame, render_));
    leaving_.push_back({tile, last_frame});
  }

  void collect(std::size_t keep_in_flight) {
    while (leaving_.size() > keep_in_flight) {
      Leaving oldest = leaving_.front();
      EXPECT_CU(cuEventSynchronize(oldest.last_frame));
      EXPECT_CU(cuEventDestroy(oldest.last_frame));
      leaving_.pop_front();
      range_.unmap(oldest.tile);
    }
  }

  void finish() { EXPECT_CU(cuStreamSynchronize(render_)); }

 private:
  struct Leaving {
    std::size_t tile;
    CUevent last_frame;
  };

  TileRange range_;
  CUfunction shade_;
  CUstream upload_ = nullptr, render_ = nullptr;
  CUevent uploaded_ = nullptr;
  std::deque<Leaving> leaving_;
};

void descend(Terrain& terrain, const std::vector<const void*>& pinned_tiles, CUdeviceptr image, unsigned pixels) {
  for (std::size_t tile = 0; tile < pinned_tiles.size(); ++tile) {
    terrain.enter(tile, pinned_tiles[tile]);
    for (int frame = 0; frame < 60; ++frame) terrain.draw(tile, image, pixels);
    terrain.leave(tile);
    terrain.collect(2);
  }
  terrain.finish();
  terrain.collect(0);
}

}  // namespace lander
