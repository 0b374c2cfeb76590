// Stable-fluids smoke preview: a density field is splatted from emitters, advected and
// summed into a preview row, every frame on the solver's own stream.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define SMOKE_CHECK(x)                                                    \
  do {                                                                    \
    cudaError_t smoke_rc = (x);                                           \
    if (smoke_rc != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(smoke_rc)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

namespace smoke {

constexpr int kWidth = 512;
constexpr int kHeight = 512;
constexpr int kCells = kWidth * kHeight;

struct Emitter {
  float x, y, radius, rate;
};

__global__ void splat(float* __restrict__ density, Emitter e) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= kWidth) return;
  const float dx = x - e.x, dy = y - e.y;
  const float w = __expf(-(dx * dx + dy * dy) / (e.radius * e.radius));
  density[y * kWidth + x] += e.rate * w;
}

__global__ void advect(const float* __restrict__ in, float* __restrict__ out, float dt) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= kWidth) return;
  const float u = sinf(6.2831853f * y / kHeight), v = 1.f;
  const int sx = min(max(static_cast<int>(x - dt * u), 0), kWidth - 1);
  const int sy = min(max(static_cast<int>(y - dt * v), 0), kHeight - 1);
  out[y * kWidth + x] = 0.995f * in[sy * kWidth + sx];
}

__global__ void project_rows(const float* __restrict__ density, float* __restrict__ preview) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < kWidth) atomicAdd(&preview[x], density[y * kWidth + x] / kHeight);
}

class Field {
 public:
  explicit Field(int cells) : cells_(cells) { SMOKE_CHECK(cudaMalloc(&data_, bytes())); }
  ~Field() { cudaFree(data_); }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  float* data() const { return data_; }
  std::size_t bytes() const { return sizeof(float) * cells_; }
  void clear(cudaStream_t stream) { SMOKE_CHECK(cudaMemsetAsync(data_, 0, bytes(), stream)); }

 private:
  int cells_;
  float* data_ = nullptr;
};

class Solver {
 public:
  Solver() : front_(kCells), back_(kCells), preview_(kWidth) {
    SMOKE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    now_ = &front_;
    next_ = &back_;
    now_->clear(stream_);
    SMOKE_CHECK(cudaDeviceSynchronize());
  }
  ~Solver() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void advance(const std::vector<Emitter>& emitters, float dt) {
    for (const Emitter& e : emitters) splat<<<grid(), kBlock, 0, stream_>>>(now_->data(), e);
    advect<<<grid(), kBlock, 0, stream_>>>(now_->data(), next_->data(), dt);
    SMOKE_CHECK(cudaGetLastError());
    std::swap(now_, next_);
  }

  // Column averages of the current density.
  std::vector<float> preview() {
    preview_.clear(stream_);
    project_rows<<<grid(), kBlock, 0, stream_>>>(now_->data(), preview_.data());
    SMOKE_CHECK(cudaGetLastError());
    std::vector<float> row(kWidth);
    SMOKE_CHECK(cudaMemcpyAsync(row.data(), preview_.data(), preview_.bytes(), cudaMemcpyDeviceToHost,
                                stream_));
    SMOKE_CHECK(cudaStreamSynchronize(stream_));
    return row;
  }

 private:
  static constexpr int kBlock = 128;
  static dim3 grid() { return dim3(kWidth / kBlock, kHeight); }

  Field front_, back_, preview_;
  Field* now_ = nullptr;
  Field* next_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace smoke

int main() {
  smoke::Solver solver;
  std::vector<smoke::Emitter> emitters;
  for (int i = 0; i < 6; ++i) emitters.push_back({80.f * i + 40.f, 480.f, 12.f, 0.4f});
  for (int frame = 0; frame < 120; ++frame) {
    solver.advance(emitters, 0.8f);
    if (frame % 30 == 29) {
      const auto row = solver.preview();
      float peak = 0.f;
      for (float v : row) peak = std::fmax(peak, v);
      std::printf("frame %d: peak column %.4f\n", frame, peak);
    }
  }
}
