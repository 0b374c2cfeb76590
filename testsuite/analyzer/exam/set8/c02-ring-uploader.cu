// Streams a terrain height map through a ring of slots: the host fills pinned memory, the copy
// stream uploads, the mesh stream consumes. A slot is only waited for when it comes round again.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>

namespace terrain {

inline void expect(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kTile = 512;
constexpr size_t kTileBytes = sizeof(float) * kTile * kTile;

__global__ void displace(const float* heights, float3* vertices, float spacing) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= kTile) return;
  vertices[y * kTile + x] = make_float3(x * spacing, heights[y * kTile + x], y * spacing);
}

__global__ void extremes(const float* heights, float2* bounds) {
  __shared__ float lo[256], hi[256];
  float l = 1e30f, h = -1e30f;
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
    l = fminf(l, heights[i]);
    h = fmaxf(h, heights[i]);
  }
  lo[threadIdx.x] = l;
  hi[threadIdx.x] = h;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      lo[threadIdx.x] = fminf(lo[threadIdx.x], lo[threadIdx.x + s]);
      hi[threadIdx.x] = fmaxf(hi[threadIdx.x], hi[threadIdx.x + s]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *bounds = make_float2(lo[0], hi[0]);
}

class RingUploader {
 public:
  using Fill = std::function<void(int tile, float* heights)>;

  RingUploader() {
    expect(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    expect(cudaStreamCreateWithFlags(&mesh_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      expect(cudaMallocHost(&s.host, kTileBytes));
      expect(cudaMalloc(&s.device, kTileBytes));
      expect(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
      expect(cudaEventCreateWithFlags(&s.consumed, cudaEventDisableTiming));
    }
  }
  ~RingUploader() {
    cudaStreamSynchronize(copy_);
    cudaStreamSynchronize(mesh_);
    for (Slot& s : slots_) {
      cudaFreeHost(s.host);
      cudaFree(s.device);
      cudaEventDestroy(s.uploaded);
      cudaEventDestroy(s.consumed);
    }
    cudaStreamDestroy(copy_);
    cudaStreamDestroy(mesh_);
  }
  RingUploader(const RingUploader&) = delete;
  RingUploader& operator=(const RingUploader&) = delete;

  // vertices: kTile * kTile entries per tile, bounds: one entry per tile, both on the device and not in
  // use by anyone else.
  void build(int tiles, const Fill& fill, float3* vertices, float2* bounds, float spacing) {
    for (int t = 0; t < tiles; ++t) {
      Slot& s = slots_[next_++ % slots_.size()];
      upload(s, t, fill);
      consume(s, vertices + static_cast<size_t>(t) * kTile * kTile, bounds + t, spacing);
    }
  }

  // Makes the results usable on `stream`.
  void joinInto(cudaStream_t stream) {
    for (Slot& s : slots_) expect(cudaStreamWaitEvent(stream, s.consumed, 0));
  }

 private:
  struct Slot {
    float* host = nullptr;
    float* device = nullptr;
    cudaEvent_t uploaded = nullptr;
    cudaEvent_t consumed = nullptr;
  };

  void upload(Slot& s, int tile, const Fill& fill) {
    // Never recorded in the first round, both waits return at once then.
    expect(cudaEventSynchronize(s.uploaded));
    fill(tile, s.host);
    expect(cudaStreamWaitEvent(copy_, s.consumed, 0));
    expect(cudaMemcpyAsync(s.device, s.host, kTileBytes, cudaMemcpyHostToDevice, copy_));
    expect(cudaEventRecord(s.uploaded, copy_));
  }

  void consume(Slot& s, float3* vertices, float2* bounds, float spacing) {
    expect(cudaStreamWaitEvent(mesh_, s.uploaded, 0));
    displace<<<dim3(kTile / 128, kTile), 128, 0, mesh_>>>(s.device, vertices, spacing);
    extremes<<<1, 256, 0, mesh_>>>(s.device, bounds);
    expect(cudaEventRecord(s.consumed, mesh_));
  }

  std::array<Slot, 3> slots_;
  size_t next_ = 0;
  cudaStream_t copy_ = nullptr, mesh_ = nullptr;
};

}  // namespace terrain
