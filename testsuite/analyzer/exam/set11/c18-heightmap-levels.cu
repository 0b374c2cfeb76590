// Pyramid of a height map for level-of-detail rendering. Every level reports its height range, which the host
// needs for the bounding boxes.
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define LOD_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void halve(const float* in, float* out, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= size || y >= size) return;
  const float* p = in + (2 * y) * (2 * size) + 2 * x;
  out[y * size + x] = 0.25f * (p[0] + p[1] + p[2 * size] + p[2 * size + 1]);
}

__global__ void rowRange(const float* in, int size, float2* ranges) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= size) return;
  float low = FLT_MAX, high = -FLT_MAX;
  for (int x = 0; x < size; ++x) {
    low = fminf(low, in[y * size + x]);
    high = fmaxf(high, in[y * size + x]);
  }
  ranges[y] = make_float2(low, high);
}

struct HeightRange {
  float low = FLT_MAX, high = -FLT_MAX;
};

// One map after another on an ordinary stream, so that the plain cudaMemcpy calls below are ordered with it.
class PyramidBuilder {
 public:
  explicit PyramidBuilder(int size) : size_(size) {
    LOD_CHECK(cudaStreamCreate(&stream_));
    for (int s = size; s >= 1; s /= 2) {
      float* p = nullptr;
      LOD_CHECK(cudaMalloc(reinterpret_cast<void**>(&p), sizeof(float) * s * s));
      levels_.push_back(p);
    }
    LOD_CHECK(cudaMalloc(reinterpret_cast<void**>(&ranges_), sizeof(float2) * size));
  }
  PyramidBuilder(const PyramidBuilder&) = delete;
  PyramidBuilder& operator=(const PyramidBuilder&) = delete;
  ~PyramidBuilder() {
    cudaStreamSynchronize(stream_);
    for (float* p : levels_) cudaFree(p);
    cudaFree(ranges_);
    cudaStreamDestroy(stream_);
  }

  std::vector<HeightRange> build(const std::vector<float>& heights) {
    LOD_CHECK(cudaMemcpy(levels_[0], heights.data(), heights.size() * sizeof(float), cudaMemcpyHostToDevice));
    std::vector<HeightRange> out;
    int s = size_;
    for (std::size_t l = 0; l < levels_.size(); ++l, s /= 2) {
      if (l > 0) halve<<<dim3((s + 127) / 128, s), 128, 0, stream_>>>(levels_[l - 1], levels_[l], s);
      LOD_CHECK(cudaGetLastError());
      out.push_back(range(levels_[l], s));
    }
    return out;
  }

 private:
  HeightRange range(const float* level, int s) {
    rowRange<<<(s + 127) / 128, 128, 0, stream_>>>(level, s, ranges_);
    LOD_CHECK(cudaGetLastError());
    std::vector<float2> rows(s);
    LOD_CHECK(cudaMemcpy(rows.data(), ranges_, sizeof(float2) * s, cudaMemcpyDeviceToHost));
    HeightRange r;
    for (const float2& row : rows) {
      r.low = std::min(r.low, row.x);
      r.high = std::max(r.high, row.y);
    }
    return r;
  }

  int size_;
  cudaStream_t stream_ = nullptr;
  std::vector<float*> levels_;
  float2* ranges_ = nullptr;
};

std::vector<float> syntheticTerrain(int size, int seed) {
  std::vector<float> h(static_cast<std::size_t>(size) * size);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = static_cast<float>((i * 7919 + seed) % 1000) * 0.1f;
  return h;
}

int main() {
  constexpr int kSize = 1024;
  PyramidBuilder builder(kSize);
  for (int map = 0; map < 8; ++map) {
    std::vector<float> terrain = syntheticTerrain(kSize, map);
    const std::vector<HeightRange> ranges = builder.build(terrain);
    for (std::size_t l = 0; l < ranges.size(); ++l)
      std::printf("map %d level %zu: %.2f .. %.2f\n", map, l, ranges[l].low, ranges[l].high);
  }
}
