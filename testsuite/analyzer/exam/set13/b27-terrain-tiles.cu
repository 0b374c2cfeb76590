// Orthorectification: height tiles are synthesised in background threads while the
// main thread projects the image of the previous tile.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ortho {

struct CudaError : std::runtime_error {
  explicit CudaError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};

inline void expect(cudaError_t e) {
  if (e != cudaSuccess) throw CudaError(e);
}

constexpr int kEdge = 1024;

__global__ void fractalHeights(float* height, int edge, int tileX, int tileY, int octaves) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= edge || y >= edge) return;
  float u = (tileX + float(x) / edge) * 3.f;
  float v = (tileY + float(y) / edge) * 3.f;
  float h = 0.f, amp = 400.f;
  for (int o = 0; o < octaves; ++o) {
    h += amp * sinf(u) * cosf(v);
    u = u * 2.03f + 1.7f;
    v = v * 1.97f - 0.3f;
    amp *= 0.5f;
  }
  height[y * edge + x] = h;
}

__global__ void projectTile(const float* height, float* ortho, int edge, float tilt) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= edge || y >= edge) return;
  const int shift = int(height[y * edge + x] * tilt);
  const int sx = min(max(x + shift, 0), edge - 1);
  ortho[y * edge + x] = height[y * edge + sx];
}

using DeviceTile = std::shared_ptr<float>;

DeviceTile allocateTile() {
  float* p = nullptr;
  expect(cudaMalloc(&p, sizeof(float) * kEdge * kEdge));
  return DeviceTile(p, [](float* q) { cudaFree(q); });
}

dim3 tileGrid() { return dim3(kEdge / 32, kEdge / 8); }
dim3 tileBlock() { return dim3(32, 8); }

class TileSource {
 public:
  explicit TileSource(int octaves) : octaves_(octaves) {}

  std::future<DeviceTile> request(int x, int y) const {
    return std::async(std::launch::async, &TileSource::synthesize, this, x, y);
  }

 private:
  DeviceTile synthesize(int x, int y) const {
    DeviceTile tile = allocateTile();
    fractalHeights<<<tileGrid(), tileBlock(), 0, cudaStreamPerThread>>>(tile.get(), kEdge, x, y,
                                                                        octaves_);
    expect(cudaGetLastError());
    return tile;
  }

  int octaves_;
};

class Projector {
 public:
  Projector() : ortho_(allocateTile()), row_(kEdge) {}

  float project(const DeviceTile& tile, float tilt) {
    projectTile<<<tileGrid(), tileBlock(), 0, cudaStreamPerThread>>>(tile.get(), ortho_.get(), kEdge,
                                                                     tilt);
    expect(cudaGetLastError());
    expect(cudaMemcpyAsync(row_.data(), ortho_.get(), sizeof(float) * kEdge, cudaMemcpyDeviceToHost,
                           cudaStreamPerThread));
    expect(cudaStreamSynchronize(cudaStreamPerThread));
    float top = row_[0];
    for (float h : row_) top = std::fmax(top, h);
    return top;
  }

 private:
  DeviceTile ortho_;
  std::vector<float> row_;
};

}  // namespace ortho

int main() {
  const ortho::TileSource source(9);
  ortho::Projector projector;

  std::deque<std::future<ortho::DeviceTile>> ahead;
  for (int x = 0; x < 3; ++x) ahead.push_back(source.request(x, 0));

  float top = 0.f;
  for (int x = 3; x < 24; ++x) {
    ortho::DeviceTile tile = ahead.front().get();
    ahead.pop_front();
    top = std::fmax(top, projector.project(tile, 0.05f));
    ahead.push_back(source.request(x, 0));
  }
  for (auto& f : ahead) top = std::fmax(top, projector.project(f.get(), 0.05f));
  std::printf("highest ridge in first rows: %.1f m\n", top);
  return 0;
}
