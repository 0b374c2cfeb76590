// Separable filters on padded float planes. All entry points take the stream to work on.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>

namespace planes {

#define PLANES_TRY(expr)                                                        \
  do {                                                                          \
    const cudaError_t status_ = (expr);                                         \
    if (status_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status_)); \
  } while (0)

constexpr int kPad = 4;

// `height` payload rows with kPad rows above and below.
class Plane {
 public:
  Plane(int width, int height) : width_(width), height_(height) {
    PLANES_TRY(cudaMallocPitch(reinterpret_cast<void**>(&base_), &pitch_, width * sizeof(float), height + 2 * kPad));
  }
  ~Plane() { cudaFree(base_); }
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  size_t pitch() const { return pitch_; }
  int stride() const { return static_cast<int>(pitch_ / sizeof(float)); }
  float* row(int y) { return base_ + static_cast<std::ptrdiff_t>(y + kPad) * stride(); }
  const float* row(int y) const { return base_ + static_cast<std::ptrdiff_t>(y + kPad) * stride(); }

 private:
  int width_, height_;
  size_t pitch_ = 0;
  float* base_ = nullptr;
};

__global__ void blurRowsKernel(const float* src, int sstride, float* dst, int dstride, int w, int h, float mix) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  const float* s = src + y * sstride;
  float l = s[max(x - 1, 0)], r = s[min(x + 1, w - 1)];
  dst[y * dstride + x] = (1.f - mix) * s[x] + 0.5f * mix * (l + r);
}

__global__ void blurColsKernel(const float* src, int sstride, float* dst, int dstride, int w, int h, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  float s = 0.f;
  for (int k = -radius; k <= radius; ++k) s += src[(y + k) * sstride + x];
  dst[y * dstride + x] = s / (2 * radius + 1);
}

inline dim3 gridFor(const Plane& p) { return dim3((p.width() + 127) / 128, p.height()); }

// Blurs along the rows and replicates the first and the last payload row into `radius` rows of padding.
void blurRows(const Plane& src, Plane& dst, float mix, int radius, cudaStream_t stream) {
  blurRowsKernel<<<gridFor(src), 128, 0, stream>>>(src.row(0), src.stride(), dst.row(0), dst.stride(), src.width(),
                                                   src.height(), mix);
  PLANES_TRY(cudaGetLastError());

  const size_t bytes = dst.width() * sizeof(float);
  const int last = dst.height() - 1;
  for (int k = 1; k <= radius; ++k) {
    PLANES_TRY(cudaMemcpy2D(dst.row(-k), dst.pitch(), dst.row(0), dst.pitch(), bytes, 1, cudaMemcpyDeviceToDevice));
    PLANES_TRY(cudaMemcpy2D(dst.row(last + k), dst.pitch(), dst.row(last), dst.pitch(), bytes, 1,
                            cudaMemcpyDeviceToDevice));
  }
}

void blurCols(const Plane& src, Plane& dst, int radius, cudaStream_t stream) {
  blurColsKernel<<<gridFor(src), 128, 0, stream>>>(src.row(0), src.stride(), dst.row(0), dst.stride(), src.width(),
                                                   src.height(), radius);
  PLANES_TRY(cudaGetLastError());
}

// Pyramid level of a feature tracker; each tracker owns its stream.
class Smoother {
 public:
  Smoother(int width, int height) : tmp_(std::make_unique<Plane>(width, height)) {
    PLANES_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    PLANES_TRY(cudaEventCreateWithFlags(&edge_, cudaEventDisableTiming));
  }
  ~Smoother() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(edge_);
    cudaStreamDestroy(stream_);
  }

  // `src` is ready on `producer`; `dst` may be used on `producer` afterwards.
  void smooth(const Plane& src, Plane& dst, int radius, cudaStream_t producer) {
    if (radius > kPad) throw std::invalid_argument("radius exceeds padding");
    PLANES_TRY(cudaEventRecord(edge_, producer));
    PLANES_TRY(cudaStreamWaitEvent(stream_, edge_, 0));
    blurRows(src, *tmp_, 0.5f, radius, stream_);
    blurCols(*tmp_, dst, radius, stream_);
    PLANES_TRY(cudaEventRecord(edge_, stream_));
    PLANES_TRY(cudaStreamWaitEvent(producer, edge_, 0));
  }

 private:
  std::unique_ptr<Plane> tmp_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t edge_ = nullptr;
};

}  // namespace planes
