// Photogrammetry: depth maps of several cameras are fused into a truncated signed
// distance volume. The camera model is small and lives in constant memory.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define FUSE(call)                                                                  \
  do {                                                                              \
    const cudaError_t rc_ = (call);                                                 \
    if (rc_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

struct Camera {
  float focal;
  float cx, cy;
  float baseline;
};
__constant__ Camera gCamera;

__global__ void fuseDepth(const unsigned short* depth, int width, int height, float2* volume, int layers) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float d = depth[y * width + x] * 0.001f * gCamera.baseline;
  for (int k = 0; k < layers; ++k) {
    const float z = (k + 0.5f) / layers * gCamera.focal * 0.01f;
    const float sdf = fminf(fmaxf(d - z, -0.05f), 0.05f);
    float2& cell = volume[(k * height + y) * width + x];
    cell.x = (cell.x * cell.y + sdf) / (cell.y + 1.f);
    cell.y += 1.f;
  }
}

__global__ void surfaceLayer(const float2* volume, int* surface, int plane, int layers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= plane) return;
  int hit = layers;
  for (int k = 0; k < layers && hit == layers; ++k)
    if (volume[k * plane + i].x < 0.f) hit = k;
  surface[i] = hit;
}

class FusionVolume {
 public:
  FusionVolume(int width, int height, int layers) : width_(width), height_(height), layers_(layers) {
    FUSE(cudaStreamCreate(&stream_));
    FUSE(cudaMalloc(&volume_, cells() * sizeof(float2)));
    FUSE(cudaMalloc(&surface_, plane() * sizeof(int)));
  }
  ~FusionVolume() {
    cudaStreamSynchronize(stream_);
    cudaFree(surface_);
    cudaFree(volume_);
    cudaStreamDestroy(stream_);
  }
  FusionVolume(const FusionVolume&) = delete;
  FusionVolume& operator=(const FusionVolume&) = delete;

  void clear(cudaStream_t stream = nullptr) {
    FUSE(cudaMemsetAsync(volume_, 0, cells() * sizeof(float2), stream));
  }

  void setCamera(const Camera& camera) { FUSE(cudaMemcpyToSymbol(gCamera, &camera, sizeof(camera))); }

  void fuse(const unsigned short* depth) {
    const dim3 block(32, 4);
    const dim3 grid((width_ + 31) / 32, (height_ + 3) / 4);
    fuseDepth<<<grid, block, 0, stream_>>>(depth, width_, height_, volume_, layers_);
    FUSE(cudaGetLastError());
  }

  std::vector<int> surface() {
    const int n = static_cast<int>(plane());
    surfaceLayer<<<(n + 255) / 256, 256, 0, stream_>>>(volume_, surface_, n, layers_);
    FUSE(cudaGetLastError());
    std::vector<int> host(plane());
    FUSE(cudaMemcpy(host.data(), surface_, plane() * sizeof(int), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t plane() const { return std::size_t(width_) * height_; }
  std::size_t cells() const { return plane() * layers_; }

  int width_, height_, layers_;
  cudaStream_t stream_ = nullptr;
  float2* volume_ = nullptr;
  int* surface_ = nullptr;
};

int main() {
  constexpr int kWidth = 640, kHeight = 480, kLayers = 96;
  unsigned short* depth = nullptr;
  FUSE(cudaMalloc(&depth, sizeof(unsigned short) * kWidth * kHeight));
  FUSE(cudaMemset(depth, 2, sizeof(unsigned short) * kWidth * kHeight));

  long sum = 0;
  {
    FusionVolume volume(kWidth, kHeight, kLayers);
    for (int pass = 0; pass < 4; ++pass) {
      volume.clear();
      for (int cam = 0; cam < 6; ++cam) {
        volume.setCamera(Camera{520.f + cam, 320.f, 240.f, 0.12f + 0.01f * pass});
        volume.fuse(depth);
      }
      for (int layer : volume.surface()) sum += layer;
    }
  }
  std::printf("mean layer %.2f\n", double(sum) / (4.0 * kWidth * kHeight));
  FUSE(cudaFree(depth));
  return 0;
}
