// Image operator that keeps a padded copy of its input.  Modelled on OpenPPL/ppl.cv#135.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#define CHECK(x)                                                                         \
  do {                                                                                   \
    cudaError_t code_ = (x);                                                             \
    if (code_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "CUDA error (%s:%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(code_)); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

namespace ppl::cv::cuda {

enum RetCode { RC_SUCCESS, RC_INVALID_VALUE, RC_DEVICE_RUNTIME_ERROR };
constexpr int kPad = 2;

// Scratch rows of an operator, kept between calls (one set per stream).
class GpuMemoryPool {
 public:
  ~GpuMemoryPool() {
    for (auto& kv : blocks_) cudaFree(kv.second);
  }
  float* get(cudaStream_t stream, size_t bytes) {
    auto it = blocks_.find(stream);
    if (it == blocks_.end()) {
      float* p;
      CHECK(cudaMalloc(&p, bytes));
      it = blocks_.emplace(stream, p).first;
    }
    return it->second;
  }

 private:
  std::map<cudaStream_t, float*> blocks_;
};

__global__ void BoxFilterRows(const float* padded, float* dst, int rows, int cols, int pitch, float sharpness) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= cols || y >= rows) return;
  float s = 0;
  for (int dy = 0; dy <= 2 * kPad; ++dy)
    for (int dx = 0; dx <= 2 * kPad; ++dx) {
      int row = min(y + dy, rows - 1);
      s += padded[size_t(row) * pitch + min(x + dx, cols - 1)];
    }
  dst[size_t(y) * cols + x] = s * sharpness;
}

RetCode BoxFilter(cudaStream_t stream, GpuMemoryPool& pool, int rows, int cols, const float* src, float* dst) {
  if (!src || !dst || rows < 1 || cols < 1) return RC_INVALID_VALUE;
  const size_t bytes = size_t(rows) * cols * sizeof(float);
  float* padded = pool.get(stream, bytes);
#ifdef FIXED
  CHECK(cudaMemcpyAsync(padded, src, bytes, cudaMemcpyDeviceToDevice, stream));
#else
  CHECK(cudaMemcpy(padded, src, bytes, cudaMemcpyDeviceToDevice));
#endif
  dim3 block(256), grid((cols + 255) / 256, rows);
  BoxFilterRows<<<grid, block, 0, stream>>>(padded, dst, rows, cols, cols, 1.0f / 25.0f);
  return cudaGetLastError() == cudaSuccess ? RC_SUCCESS : RC_DEVICE_RUNTIME_ERROR;
}

__global__ void SynthFrame(float* img, size_t n, int frame) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    img[i] = float((i * 31 + frame * 97) & 255);
}

}  // namespace ppl::cv::cuda

int main() {
  using namespace ppl::cv::cuda;
  constexpr int rows = 4096, cols = 8192;
  const size_t n = size_t(rows) * cols;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float *src[2], *dst;
  for (int f = 0; f < 2; ++f) {
    CHECK(cudaMalloc(&src[f], n * sizeof(float)));
    SynthFrame<<<264, 256, 0, stream>>>(src[f], n, f);
  }
  CHECK(cudaMalloc(&dst, n * sizeof(float)));
  CHECK(cudaStreamSynchronize(stream));
  {
    GpuMemoryPool pool;
    for (int call = 0; call < 6; ++call)
      if (BoxFilter(stream, pool, rows, cols, src[call & 1], dst) != RC_SUCCESS) return 1;
    CHECK(cudaDeviceSynchronize());
  }
  float h;
  CHECK(cudaMemcpy(&h, dst + n / 2, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("dst = %f\n", h);
  cudaFree(src[0]), cudaFree(src[1]), cudaFree(dst), cudaStreamDestroy(stream);
  return 0;
}
