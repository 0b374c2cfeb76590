// Scan conversion of ultrasound sectors. Temporary images come from the
// stream-ordered allocator and change their owner stream on the way.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace echo {

inline void need(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "scan-converter:%d: %s\n", line, cudaGetErrorString(rc));
    std::abort();
  }
}
#define NEED(x) ::echo::need((x), __LINE__)

struct StreamFree {
  cudaStream_t stream = nullptr;
  void operator()(float* p) const { NEED(cudaFreeAsync(p, stream)); }
};
using Image = std::unique_ptr<float, StreamFree>;

Image make_image(std::size_t pixels, cudaStream_t stream) {
  float* p = nullptr;
  NEED(cudaMallocAsync(&p, pixels * sizeof(float), stream));
  return Image(p, StreamFree{stream});
}

__global__ void demodulate(const short* rf, float* envelope, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) envelope[i] = fabsf(static_cast<float>(rf[i]));
}

__global__ void compress(float* envelope, std::size_t n, float range) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) envelope[i] = fminf(1.f, log10f(1.f + envelope[i]) / range);
}

__global__ void to_raster(const float* sector, int lines, int depth, float* raster, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= width || y >= height) return;
  const float dx = (static_cast<float>(x) - 0.5f * static_cast<float>(width)) / static_cast<float>(width);
  const float dy = static_cast<float>(y + 1) / static_cast<float>(height);
  const int line = static_cast<int>((atan2f(dx, dy) / 1.5707963f + 0.5f) * static_cast<float>(lines - 1));
  const int sample = static_cast<int>(sqrtf(dx * dx + dy * dy) * 0.7f * static_cast<float>(depth - 1));
  raster[static_cast<std::size_t>(y) * width + x] = sector[static_cast<std::size_t>(line) * depth + sample];
}

class Converter {
 public:
  // Both streams belong to the caller and outlive the converter.
  Converter(cudaStream_t acquire, cudaStream_t display) : acquire_(acquire), display_(display) {
    NEED(cudaEventCreateWithFlags(&handover_, cudaEventDisableTiming));
  }
  ~Converter() { NEED(cudaEventDestroy(handover_)); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // `rf` is written by work on the acquisition stream; the result belongs to the display stream.
  Image convert(const short* rf, int lines, int depth, int width, int height) {
    Image sector = envelope(rf, static_cast<std::size_t>(lines) * depth);
    hand_over(sector);
    return raster(std::move(sector), lines, depth, width, height);
  }

 private:
  Image envelope(const short* rf, std::size_t n) {
    Image out = make_image(n, acquire_);
    const unsigned blocks = static_cast<unsigned>((n + 255) / 256);
    demodulate<<<blocks, 256, 0, acquire_>>>(rf, out.get(), n);
    compress<<<blocks, 256, 0, acquire_>>>(out.get(), n, 4.f);
    NEED(cudaGetLastError());
    return out;
  }

  // From here on the image is used and freed on the display stream.
  void hand_over(Image& image) {
    NEED(cudaEventRecord(handover_, acquire_));
    NEED(cudaStreamWaitEvent(display_, handover_, 0));
    image.get_deleter().stream = display_;
  }

  Image raster(Image sector, int lines, int depth, int width, int height) {
    Image out = make_image(static_cast<std::size_t>(width) * height, display_);
    to_raster<<<dim3((width + 127) / 128, height), 128, 0, display_>>>(sector.get(), lines, depth, out.get(), width,
                                                                    height);
    NEED(cudaGetLastError());
    return out;
  }

  cudaStream_t acquire_;
  cudaStream_t display_;
  cudaEvent_t handover_ = nullptr;
};

__global__ void add_scaled(float* mean, const float* image, float scale, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) mean[i] += scale * image[i];
}

// Converts a burst and averages it into `mean`, on the display stream.
void average_burst(Converter& converter, const short* const* rf, int frames, int lines, int depth, float* mean,
                   int width, int height, cudaStream_t display) {
  const std::size_t n = static_cast<std::size_t>(width) * height;
  NEED(cudaMemsetAsync(mean, 0, n * sizeof(float), display));
  for (int f = 0; f < frames; ++f) {
    const Image image = converter.convert(rf[f], lines, depth, width, height);
    add_scaled<<<static_cast<unsigned>((n + 255) / 256), 256, 0, display>>>(mean, image.get(),
                                                                         1.f / static_cast<float>(frames), n);
    NEED(cudaGetLastError());
  }
}

}  // namespace echo
