// Growable vertex arena of a point-cloud viewer. One address range is reserved for the whole
// session; physical chunks are mapped at its end when a scene grows and given back when it
// shrinks, so that vertex pointers never move.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace viewer {

class DriverError : public std::runtime_error {
 public:
  explicit DriverError(CUresult rc) : std::runtime_error("CUDA driver error " + std::to_string(rc)) {}
};
inline void verify(CUresult rc) {
  if (rc != CUDA_SUCCESS) throw DriverError(rc);
}

struct Vertex {
  float x, y, z;
  unsigned rgba;
};

__global__ void transform(Vertex* __restrict__ v, std::size_t first, std::size_t count, float yaw) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  float s, c;
  sincosf(yaw, &s, &c);
  Vertex p = v[first + i];
  const float x = c * p.x - s * p.y;
  p.y = s * p.x + c * p.y;
  p.x = x;
  v[first + i] = p;
}

__global__ void splat(const Vertex* __restrict__ v, std::size_t first, std::size_t count,
                      unsigned* __restrict__ image, int width, int height) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  const Vertex p = v[first + i];
  const int x = static_cast<int>((0.5f + 0.5f * p.x) * width);
  const int y = static_cast<int>((0.5f + 0.5f * p.y) * height);
  if (x >= 0 && x < width && y >= 0 && y < height) atomicMax(&image[y * width + x], p.rgba);
}

// Reserved range with mapped chunks at its start.
class VertexArena {
 public:
  VertexArena(int device, std::size_t reserve_bytes) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    verify(cuMemGetAllocationGranularity(&chunk_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    reserved_ = (reserve_bytes + chunk_ - 1) / chunk_ * chunk_;
    verify(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
  }
  ~VertexArena() {
    while (!chunks_.empty()) pop_chunk();
    cuMemAddressFree(base_, reserved_);
  }
  VertexArena(const VertexArena&) = delete;
  VertexArena& operator=(const VertexArena&) = delete;

  Vertex* data() const { return reinterpret_cast<Vertex*>(base_); }
  std::size_t mapped() const { return chunks_.size() * chunk_; }

  void grow_to(std::size_t bytes) {
    while (mapped() < bytes) push_chunk();
  }
  void shrink_to(std::size_t bytes) {
    while (!chunks_.empty() && mapped() - chunk_ >= bytes) pop_chunk();
  }

 private:
  void push_chunk() {
    CUmemGenericAllocationHandle handle;
    verify(cuMemCreate(&handle, chunk_, &prop_, 0));
    const CUdeviceptr at = base_ + mapped();
    verify(cuMemMap(at, chunk_, 0, handle, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    verify(cuMemSetAccess(at, chunk_, &access, 1));
    chunks_.push_back(handle);
  }
  void pop_chunk() {
    const CUdeviceptr at = base_ + mapped() - chunk_;
    verify(cuMemUnmap(at, chunk_));
    verify(cuMemRelease(chunks_.back()));
    chunks_.pop_back();
  }

  CUmemAllocationProp prop_{};
  CUdeviceptr base_ = 0;
  std::size_t reserved_ = 0;
  std::size_t chunk_ = 0;
  std::vector<CUmemGenericAllocationHandle> chunks_;
};

class Scene {
 public:
  Scene(int device, std::size_t max_vertices, CUstream stream)
      : arena_(device, max_vertices * sizeof(Vertex)), stream_(stream) {}
  ~Scene() { cuStreamSynchronize(stream_); }

  // Appends vertices from page-locked memory that outlives the scene.
  void append(const Vertex* host, std::size_t n) {
    arena_.grow_to((count_ + n) * sizeof(Vertex));
    verify(cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(arena_.data() + count_), host,
                             n * sizeof(Vertex), stream_));
    count_ += n;
  }

  void draw(float yaw, unsigned* image, int width, int height) {
    if (count_ == 0) return;
    const unsigned blocks = static_cast<unsigned>((count_ + 255) / 256);
    const auto s = reinterpret_cast<cudaStream_t>(stream_);
    transform<<<blocks, 256, 0, s>>>(arena_.data(), 0, count_, yaw);
    splat<<<blocks, 256, 0, s>>>(arena_.data(), 0, count_, image, width, height);
  }

  // Drops everything after the first `keep` vertices and returns their memory.
  void truncate(std::size_t keep) {
    if (keep >= count_) return;
    count_ = keep;
    arena_.shrink_to(keep * sizeof(Vertex));
  }

 private:
  VertexArena arena_;
  CUstream stream_;
  std::size_t count_ = 0;
};

// Flies around the loaded cloud and lets the coarse level replace the fine one afterwards.
void orbit(Scene& scene, unsigned* image, int width, int height, int frames, std::size_t coarse) {
  for (int f = 0; f < frames; ++f) scene.draw(0.01f, image, width, height);
  scene.truncate(coarse);
  scene.draw(0.f, image, width, height);
}

}  // namespace viewer
