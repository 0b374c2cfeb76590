// Moves half-rendered tiles between GPUs so that the load stays even.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define GPU_CALL(x)                                                                              \
  do {                                                                                           \
    if (cudaError_t e = (x); e != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s failed at %s:%d (%s)\n", #x, __FILE__, __LINE__, cudaGetErrorName(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)

namespace tiles {

constexpr int kTileEdge = 256;
constexpr size_t kTilePixels = size_t(kTileEdge) * kTileEdge;

__global__ void traceSamples(float4* radiance, int pixels, int firstSample, int samples) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float4 sum = firstSample == 0 ? make_float4(0, 0, 0, 0) : radiance[p];
  for (int s = firstSample; s < firstSample + samples; ++s) {
    float u = __sinf(p * 12.9898f + s * 78.233f) * 0.5f + 0.5f;
    sum.x += u;
    sum.y += u * u;
    sum.z += 1.0f - u;
    sum.w += 1.0f;
  }
  radiance[p] = sum;
}

__global__ void resolve(const float4* radiance, uchar4* out, int pixels) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float4 r = radiance[p];
  float inv = 255.0f / r.w;
  out[p] = make_uchar4(r.x * inv, r.y * inv, r.z * inv, 255);
}

class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    GPU_CALL(cudaGetDevice(&previous_));
    GPU_CALL(cudaSetDevice(device));
  }
  ~DeviceScope() { cudaSetDevice(previous_); }

 private:
  int previous_ = 0;
};

struct RenderDevice {
  int id;
  cudaStream_t stream{};
  cudaEvent_t milestone{};

  explicit RenderDevice(int device) : id(device) {
    DeviceScope scope(id);
    GPU_CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_CALL(cudaEventCreateWithFlags(&milestone, cudaEventDisableTiming));
  }
  RenderDevice(const RenderDevice&) = delete;
  ~RenderDevice() {
    DeviceScope scope(id);
    cudaStreamSynchronize(stream);
    cudaEventDestroy(milestone);
    cudaStreamDestroy(stream);
  }
};

class Tile {
 public:
  explicit Tile(const RenderDevice& home) : device_(home.id) {
    DeviceScope scope(device_);
    GPU_CALL(cudaMalloc(&radiance_, kTilePixels * sizeof(float4)));
  }
  Tile(const Tile&) = delete;
  ~Tile() {
    DeviceScope scope(device_);
    cudaFree(radiance_);
  }
  int device() const { return device_; }
  float4* radiance() const { return radiance_; }

 private:
  int device_;
  float4* radiance_ = nullptr;
};

inline int blocks() { return int((kTilePixels + 255) / 256); }

void accumulate(RenderDevice& dev, Tile& tile, int first, int count) {
  DeviceScope scope(dev.id);
  traceSamples<<<blocks(), 256, 0, dev.stream>>>(tile.radiance(), int(kTilePixels), first, count);
  GPU_CALL(cudaGetLastError());
}

void copyTile(const Tile& from, Tile& to, cudaStream_t stream = nullptr) {
  GPU_CALL(cudaMemcpyPeerAsync(to.radiance(), to.device(), from.radiance(), from.device(),
                               kTilePixels * sizeof(float4), stream));
}

// Continues a tile of `src` on `dst`; returns the tile that `dst` renders from now on.
std::unique_ptr<Tile> migrate(RenderDevice& src, const Tile& tile, RenderDevice& dst) {
  auto moved = std::make_unique<Tile>(dst);
  {
    DeviceScope scope(src.id);
    GPU_CALL(cudaEventRecord(src.milestone, src.stream));
  }
  DeviceScope scope(dst.id);
  GPU_CALL(cudaStreamWaitEvent(dst.stream, src.milestone, 0));
  copyTile(tile, *moved);
  return moved;
}

std::vector<uchar4> finish(RenderDevice& dev, const Tile& tile) {
  DeviceScope scope(dev.id);
  uchar4* pixels = nullptr;
  std::vector<uchar4> image(kTilePixels);
  GPU_CALL(cudaMalloc(&pixels, kTilePixels * sizeof(uchar4)));
  resolve<<<blocks(), 256, 0, dev.stream>>>(tile.radiance(), pixels, int(kTilePixels));
  GPU_CALL(cudaGetLastError());
  GPU_CALL(cudaMemcpyAsync(image.data(), pixels, kTilePixels * sizeof(uchar4), cudaMemcpyDeviceToHost, dev.stream));
  GPU_CALL(cudaStreamSynchronize(dev.stream));
  GPU_CALL(cudaFree(pixels));
  return image;
}

}  // namespace tiles

int main() {
  using namespace tiles;
  int count = 0;
  GPU_CALL(cudaGetDeviceCount(&count));
  if (count < 2) {
    std::puts("needs two devices");
    return 0;
  }
  RenderDevice busy(0), idle(1);
  Tile tile(busy);

  accumulate(busy, tile, 0, 32);
  std::unique_ptr<Tile> moved = migrate(busy, tile, idle);
  accumulate(idle, *moved, 32, 32);
  std::vector<uchar4> image = finish(idle, *moved);

  for (RenderDevice* dev : {&busy, &idle}) {
    DeviceScope scope(dev->id);
    GPU_CALL(cudaDeviceSynchronize());
  }
  std::printf("first pixel %d %d %d\n", image[0].x, image[0].y, image[0].z);
  return 0;
}
