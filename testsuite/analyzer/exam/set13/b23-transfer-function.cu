// Direct volume rendering: the classification table lives in constant memory and
// follows the user's slider between two frames.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CU_OK(call)                                                                  \
  do {                                                                               \
    const cudaError_t rc = (call);                                                   \
    if (rc != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

constexpr int kTableSize = 256;
__constant__ float4 gTransfer[kTableSize];

struct TransferFunction {
  std::array<float4, kTableSize> entries{};

  static TransferFunction ramp(float lo, float hi) {
    TransferFunction tf;
    for (int i = 0; i < kTableSize; ++i) {
      const float v = std::clamp((i / 255.f - lo) / (hi - lo), 0.f, 1.f);
      tf.entries[i] = make_float4(v, v * v, 1.f - v, 0.02f * v);
    }
    return tf;
  }
};

__global__ void castRays(const unsigned char* volume, int3 dim, float4* image) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= dim.x || y >= dim.y) return;
  float4 c = make_float4(0.f, 0.f, 0.f, 0.f);
  for (int z = 0; z < dim.z && c.w < 0.98f; ++z) {
    const float4 s = gTransfer[volume[(z * dim.y + y) * dim.x + x]];
    const float k = (1.f - c.w) * s.w;
    c = make_float4(c.x + k * s.x, c.y + k * s.y, c.z + k * s.z, c.w + k);
  }
  image[y * dim.x + x] = c;
}

__global__ void toneMap(const float4* hdr, uchar4* ldr, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 c = hdr[i];
  ldr[i] = make_uchar4(255.f * fminf(c.x, 1.f), 255.f * fminf(c.y, 1.f), 255.f * fminf(c.z, 1.f), 255);
}

class VolumeRenderer {
 public:
  explicit VolumeRenderer(int3 dim) : dim_(dim), pixels_(std::size_t(dim.x) * dim.y) {
    int low = 0, high = 0;
    CU_OK(cudaDeviceGetStreamPriorityRange(&low, &high));
    CU_OK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, high));
    CU_OK(cudaMalloc(&volume_, pixels_ * dim.z));
    CU_OK(cudaMalloc(&hdr_, pixels_ * sizeof(float4)));
    CU_OK(cudaMalloc(&ldr_, pixels_ * sizeof(uchar4)));
    CU_OK(cudaMallocHost(&frame_, pixels_ * sizeof(uchar4)));
  }

  ~VolumeRenderer() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(frame_);
    cudaFree(ldr_);
    cudaFree(hdr_);
    cudaFree(volume_);
    cudaStreamDestroy(stream_);
  }

  VolumeRenderer(const VolumeRenderer&) = delete;
  VolumeRenderer& operator=(const VolumeRenderer&) = delete;

  void upload(const std::vector<unsigned char>& voxels) {
    CU_OK(cudaMemcpyAsync(volume_, voxels.data(), voxels.size(), cudaMemcpyHostToDevice, stream_));
    CU_OK(cudaStreamSynchronize(stream_));
  }

  void setTransferFunction(const TransferFunction& tf) {
    CU_OK(cudaMemcpyToSymbol(gTransfer, tf.entries.data(), sizeof(float4) * kTableSize));
  }

  void submit() {
    const dim3 block(16, 16);
    const dim3 grid((dim_.x + 15) / 16, (dim_.y + 15) / 16);
    castRays<<<grid, block, 0, stream_>>>(volume_, dim_, hdr_);
    const int n = static_cast<int>(pixels_);
    toneMap<<<(n + 255) / 256, 256, 0, stream_>>>(hdr_, ldr_, n);
    CU_OK(cudaGetLastError());
  }

  const uchar4* fetch() {
    CU_OK(cudaMemcpyAsync(frame_, ldr_, pixels_ * sizeof(uchar4), cudaMemcpyDeviceToHost, stream_));
    CU_OK(cudaStreamSynchronize(stream_));
    return frame_;
  }

 private:
  int3 dim_;
  std::size_t pixels_;
  cudaStream_t stream_ = nullptr;
  unsigned char* volume_ = nullptr;
  float4* hdr_ = nullptr;
  uchar4* ldr_ = nullptr;
  uchar4* frame_ = nullptr;
};

int main() {
  const int3 dim = make_int3(512, 512, 256);
  VolumeRenderer renderer(dim);
  renderer.upload(std::vector<unsigned char>(std::size_t(dim.x) * dim.y * dim.z, 90));

  unsigned long checksum = 0;
  for (int step = 0; step < 60; ++step) {
    renderer.setTransferFunction(TransferFunction::ramp(0.01f * step, 0.2f + 0.01f * step));
    renderer.submit();
    if (step % 10 == 9) checksum += renderer.fetch()[0].x;
  }
  std::printf("checksum %lu\n", checksum);
}
