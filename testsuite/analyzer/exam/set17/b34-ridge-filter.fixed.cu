// Vessel enhancement: gradient, then ridge response. The second kernel is a programmatic
// dependent of the first one so that its prologue overlaps with the tail. Needs sm_90.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define RIDGE_CHECK(call)                                                             \
  do {                                                                                \
    const cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess)                                                            \
      throw std::runtime_error(std::string(#call " -> ") + cudaGetErrorString(e_));   \
  } while (0)

namespace ridge {

constexpr int kGainRows = 64;

__global__ void gradientMagnitude(const float* image, float* grad, int width, int height) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int xm = max(x - 1, 0), xp = min(x + 1, width - 1);
  const int ym = max(y - 1, 0), yp = min(y + 1, height - 1);
  const float gx = image[y * width + xp] - image[y * width + xm];
  const float gy = image[yp * width + x] - image[ym * width + x];
  grad[y * width + x] = sqrtf(gx * gx + gy * gy);
}

// Three neighbouring samples of one row, clamped at the border.
class RowWindow {
 public:
  __device__ RowWindow(const float* row, int x, int width)
      : left_(row[max(x - 1, 0)]), mid_(row[x]), right_(row[min(x + 1, width - 1)]) {}
  __device__ float curvature() const { return left_ - 2.f * mid_ + right_; }
  __device__ float mean() const { return (left_ + mid_ + right_) * (1.f / 3.f); }

 private:
  float left_, mid_, right_;
};

__global__ void ridgeResponse(const float* grad, const float* gains, float* response, int width,
                              int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float gain = gains[y % kGainRows];
  const int at = y * width + x;

  cudaGridDependencySynchronize();
  const RowWindow window(grad + size_t(y) * width, x, width);
  response[at] = gain * fmaxf(-window.curvature(), 0.f) / (1.f + window.mean());
}

template <typename... Params, typename... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream,
            bool overlapWithPrevious, Args... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = grid;
  cfg.blockDim = block;
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = overlapWithPrevious ? 1 : 0;
  RIDGE_CHECK(cudaLaunchKernelEx(&cfg, kernel, Params(args)...));
}

class RidgeFilter {
 public:
  RidgeFilter(int width, int height, const std::vector<float>& gains)
      : width_(width), height_(height) {
    if (gains.size() != kGainRows) throw std::invalid_argument("need one gain per row class");
    RIDGE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RIDGE_CHECK(cudaMalloc(reinterpret_cast<void**>(&image_), bytes()));
    RIDGE_CHECK(cudaMalloc(reinterpret_cast<void**>(&grad_), bytes()));
    RIDGE_CHECK(cudaMalloc(reinterpret_cast<void**>(&response_), bytes()));
    RIDGE_CHECK(cudaMalloc(reinterpret_cast<void**>(&gains_), kGainRows * sizeof(float)));
    RIDGE_CHECK(cudaMemcpyAsync(gains_, gains.data(), kGainRows * sizeof(float),
                                cudaMemcpyHostToDevice, stream_));
    RIDGE_CHECK(cudaStreamSynchronize(stream_));
  }
  RidgeFilter(const RidgeFilter&) = delete;
  ~RidgeFilter() {
    cudaStreamSynchronize(stream_);
    for (float* p : {image_, grad_, response_, gains_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }

  std::vector<float> apply(const std::vector<float>& image) {
    std::vector<float> out(size_t(width_) * height_);
    RIDGE_CHECK(cudaMemcpyAsync(image_, image.data(), bytes(), cudaMemcpyHostToDevice, stream_));
    enhance();
    RIDGE_CHECK(cudaMemcpyAsync(out.data(), response_, bytes(), cudaMemcpyDeviceToHost, stream_));
    RIDGE_CHECK(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void enhance() {
    const dim3 block(32, 8);
    const dim3 grid((width_ + 31) / 32, (height_ + 7) / 8);
    launch(gradientMagnitude, grid, block, stream_, /*overlapWithPrevious=*/false, image_, grad_,
           width_, height_);
    launch(ridgeResponse, grid, block, stream_, /*overlapWithPrevious=*/true, grad_, gains_,
           response_, width_, height_);
  }
  size_t bytes() const { return size_t(width_) * height_ * sizeof(float); }

  int width_, height_;
  cudaStream_t stream_ = nullptr;
  float *image_ = nullptr, *grad_ = nullptr, *response_ = nullptr, *gains_ = nullptr;
};

}  // namespace ridge
