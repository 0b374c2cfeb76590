// Adaptive mesh refinement: tagging and clustering of patches with scratch memory from a bump arena.
// Patches are spread over the streams of a small set.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

namespace amr {

inline void cu(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

// Linear device arena. Frames nest; a frame gives everything back that was taken since it was opened.
class ScratchArena {
 public:
  explicit ScratchArena(size_t bytes) : size_(bytes) { cu(cudaMalloc(&base_, bytes)); }
  ~ScratchArena() {
    cudaDeviceSynchronize();
    cudaFree(base_);
  }
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  class Frame {
   public:
    Frame(ScratchArena& arena, cudaStream_t stream) : arena_(arena), stream_(stream), mark_(arena.top_) {}
    ~Frame() {
      cudaStreamSynchronize(stream_);
      arena_.top_ = mark_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    template <typename T>
    T* take(size_t count) {
      return static_cast<T*>(arena_.bump(count * sizeof(T)));
    }

    cudaStream_t stream() const { return stream_; }

   private:
    ScratchArena& arena_;
    cudaStream_t stream_;
    size_t mark_;
  };

 private:
  void* bump(size_t bytes) {
    size_t at = (top_ + 255) & ~static_cast<size_t>(255);
    if (at + bytes > size_) throw std::bad_alloc();
    top_ = at + bytes;
    return static_cast<char*>(base_) + at;
  }

  void* base_ = nullptr;
  size_t size_ = 0;
  size_t top_ = 0;
};

struct Patch {
  int nx;
  int ny;
  const float* density;
  uint8_t* tags;
  unsigned* tag_count;  // device counter, zeroed by the caller in the patch's stream
  bool needs_buffer_zone;
};

__global__ void gradient(const float* rho, float* grad, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= nx) return;
  int xm = max(x - 1, 0), xp = min(x + 1, nx - 1), ym = max(y - 1, 0), yp = min(y + 1, ny - 1);
  grad[y * nx + x] = fabsf(rho[y * nx + xp] - rho[y * nx + xm]) + fabsf(rho[yp * nx + x] - rho[ym * nx + x]);
}

__global__ void threshold(const float* grad, uint8_t* tags, int cells, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) tags[i] = grad[i] > limit;
}

__global__ void dilate(const uint8_t* in, uint8_t* out, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= nx) return;
  uint8_t any = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) any |= in[min(max(y + dy, 0), ny - 1) * nx + min(max(x + dx, 0), nx - 1)];
  out[y * nx + x] = any;
}

__global__ void count_tags(const uint8_t* tags, int cells, unsigned* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells && tags[i]) atomicAdd(count, 1u);
}

static float* compute_gradient(ScratchArena::Frame& frame, const Patch& p) {
  float* grad = frame.take<float>(static_cast<size_t>(p.nx) * p.ny);
  gradient<<<dim3((p.nx + 127) / 128, p.ny), 128, 0, frame.stream()>>>(p.density, grad, p.nx, p.ny);
  cu(cudaGetLastError());
  return grad;
}

static void tag_plain(ScratchArena::Frame& frame, const Patch& p, float limit) {
  const int cells = p.nx * p.ny;
  const float* grad = compute_gradient(frame, p);
  threshold<<<(cells + 255) / 256, 256, 0, frame.stream()>>>(grad, p.tags, cells, limit);
  cu(cudaGetLastError());
}

static void tag_with_buffer_zone(ScratchArena::Frame& frame, const Patch& p, float limit) {
  const int cells = p.nx * p.ny;
  const float* grad = compute_gradient(frame, p);
  uint8_t* raw = frame.take<uint8_t>(cells);
  threshold<<<(cells + 255) / 256, 256, 0, frame.stream()>>>(grad, raw, cells, limit);
  dilate<<<dim3((p.nx + 127) / 128, p.ny), 128, 0, frame.stream()>>>(raw, p.tags, p.nx, p.ny);
  cu(cudaGetLastError());
}

// Tags one patch; the result is ready when `stream` has run.
void tag_patch(ScratchArena& arena, const Patch& p, float limit, cudaStream_t stream) {
  ScratchArena::Frame frame(arena, stream);
  if (p.needs_buffer_zone) {
    tag_with_buffer_zone(frame, p, limit);
  } else {
    tag_plain(frame, p, limit);
  }
  const int cells = p.nx * p.ny;
  count_tags<<<(cells + 255) / 256, 256, 0, stream>>>(p.tags, cells, p.tag_count);
  cu(cudaGetLastError());
}

// Tags a level. Blocks until the tags of all patches are complete.
void tag_level(ScratchArena& arena, const std::vector<Patch>& patches, float limit,
               const std::vector<cudaStream_t>& streams) {
  for (size_t i = 0; i < patches.size(); ++i) {
    tag_patch(arena, patches[i], limit, streams[i % streams.size()]);
  }
  for (cudaStream_t s : streams) cu(cudaStreamSynchronize(s));
}

}  // namespace amr
