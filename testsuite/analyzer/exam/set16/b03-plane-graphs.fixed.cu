// Two-plane video denoiser: luma and chroma are captured once as CUDA graphs and replayed per frame.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(x)                                                                               \
  do {                                                                                         \
    cudaError_t e = (x);                                                                       \
    if (e != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));          \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (0)

// Bump allocator over one block; graphs keep the addresses that they were given at capture.
class ScratchArena {
 public:
  explicit ScratchArena(size_t bytes) : size_(bytes) { CHECK(cudaMalloc(&base_, bytes)); }
  ~ScratchArena() { cudaFree(base_); }
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  float* take(size_t count) {
    const size_t bytes = (count * sizeof(float) + 255) / 256 * 256;
    if (used_ + bytes > size_) {
      std::fprintf(stderr, "scratch arena exhausted\n");
      std::exit(1);
    }
    char* p = base_ + used_;
    used_ += bytes;
    return reinterpret_cast<float*>(p);
  }

  void rewind() { used_ = 0; }

 private:
  char* base_ = nullptr;
  size_t size_;
  size_t used_ = 0;
};

__global__ void blurRows(const float* in, float* tmp, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  int l = x > 0 ? x - 1 : 0, r = x < w - 1 ? x + 1 : w - 1;
  tmp[y * w + x] = 0.25f * in[y * w + l] + 0.5f * in[y * w + x] + 0.25f * in[y * w + r];
}

__global__ void blurColumns(const float* tmp, float* out, int w, int h, float strength) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  int u = y > 0 ? y - 1 : 0, d = y < h - 1 ? y + 1 : h - 1;
  float v = 0.25f * tmp[u * w + x] + 0.5f * tmp[y * w + x] + 0.25f * tmp[d * w + x];
  out[y * w + x] = strength * v + (1.0f - strength) * out[y * w + x];
}

struct Plane {
  int w = 0, h = 0;
  float* in = nullptr;
  float* out = nullptr;
  cudaStream_t stream{};
  cudaGraphExec_t exec{};
};

Plane makePlane(int w, int h) {
  Plane p;
  p.w = w;
  p.h = h;
  CHECK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&p.in, sizeof(float) * w * h));
  CHECK(cudaMalloc(&p.out, sizeof(float) * w * h));
  CHECK(cudaMemsetAsync(p.in, 0, sizeof(float) * w * h, p.stream));
  CHECK(cudaMemsetAsync(p.out, 0, sizeof(float) * w * h, p.stream));
  return p;
}

void capturePlane(Plane& p, ScratchArena& arena, float strength) {
  float* tmp = arena.take(size_t(p.w) * p.h);
  dim3 grid((p.w + 255) / 256, p.h);
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
  blurRows<<<grid, 256, 0, p.stream>>>(p.in, tmp, p.w, p.h);
  blurColumns<<<grid, 256, 0, p.stream>>>(tmp, p.out, p.w, p.h, strength);
  CHECK(cudaStreamEndCapture(p.stream, &graph));
  CHECK(cudaGraphInstantiate(&p.exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
}

void denoiseFrame(Plane& luma, Plane& chroma) {
  CHECK(cudaGraphLaunch(luma.exec, luma.stream));
  CHECK(cudaGraphLaunch(chroma.exec, chroma.stream));
}

void destroyPlane(Plane& p) {
  CHECK(cudaStreamSynchronize(p.stream));
  CHECK(cudaGraphExecDestroy(p.exec));
  CHECK(cudaFree(p.in));
  CHECK(cudaFree(p.out));
  CHECK(cudaStreamDestroy(p.stream));
}

int main() {
  const int w = 1920, h = 1080;
  ScratchArena arena(size_t(16) << 20);
  Plane luma = makePlane(w, h);
  Plane chroma = makePlane(w / 2, h / 2);
  capturePlane(luma, arena, 0.6f);
  capturePlane(chroma, arena, 0.9f);

  for (int frame = 0; frame < 300; ++frame) denoiseFrame(luma, chroma);

  std::vector<float> row(w);
  CHECK(cudaMemcpyAsync(row.data(), luma.out, sizeof(float) * w, cudaMemcpyDeviceToHost, luma.stream));
  CHECK(cudaStreamSynchronize(luma.stream));
  std::printf("luma[0] = %f\n", row[0]);
  destroyPlane(luma);
  destroyPlane(chroma);
  return 0;
}
