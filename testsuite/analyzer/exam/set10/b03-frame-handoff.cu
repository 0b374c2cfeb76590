// Offline renderer: a render stage that owns its frames, and a compositor that pulls them on its own stream.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_TRY(call)                                                     \
  do {                                                                     \
    if (cudaError_t e = (call); e != cudaSuccess)                          \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e)); \
  } while (false)

struct Frame {
  uchar4* pixels = nullptr;
  cudaEvent_t rendered = nullptr;
};

__global__ void shade(uchar4* px, int w, int h, float t) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float v = 0.5f + 0.5f * __sinf(0.02f * x + t) * __cosf(0.03f * y - t);
  auto c = static_cast<unsigned char>(255.f * v);
  px[y * w + x] = make_uchar4(c, 255 - c, c / 2, 255);
}

__global__ void blend(uchar4* canvas, const uchar4* layer, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  canvas[i].x = (canvas[i].x + layer[i].x) / 2;
  canvas[i].y = (canvas[i].y + layer[i].y) / 2;
  canvas[i].z = (canvas[i].z + layer[i].z) / 2;
}

class RenderStage {
 public:
  RenderStage(int width, int height, int depth) : w_(width), h_(height), frames_(depth) {
    CUDA_TRY(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (auto& f : frames_) {
      CUDA_TRY(cudaMalloc(&f.pixels, bytes()));
      CUDA_TRY(cudaEventCreateWithFlags(&f.rendered, cudaEventDisableTiming));
      free_.push(&f);
    }
  }

  ~RenderStage() {
    cudaDeviceSynchronize();
    for (auto& f : frames_) {
      cudaEventDestroy(f.rendered);
      cudaFree(f.pixels);
    }
    cudaStreamDestroy(stage_);
  }

  RenderStage(const RenderStage&) = delete;
  RenderStage& operator=(const RenderStage&) = delete;

  size_t bytes() const { return size_t(w_) * h_ * sizeof(uchar4); }
  int pixels() const { return w_ * h_; }

  bool render(float t) {
    if (free_.empty()) return false;
    Frame* f = free_.front();
    free_.pop();
    dim3 block(16, 16), grid((w_ + 15) / 16, (h_ + 15) / 16);
    shade<<<grid, block, 0, stage_>>>(f->pixels, w_, h_, t);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventRecord(f->rendered, stage_));
    ready_.push(f);
    return true;
  }

  // Copies the oldest finished frame into dst, in the order of the caller's stream.
  void copy_to(uchar4* dst, cudaStream_t user) {
    Frame* f = ready_.front();
    CUDA_TRY(cudaStreamWaitEvent(user, f->rendered, 0));
    CUDA_TRY(cudaMemcpyAsync(dst, f->pixels, bytes(), cudaMemcpyDeviceToDevice, user));
  }

  // Gives the oldest finished frame back to the renderer.
  void release() {
    free_.push(ready_.front());
    ready_.pop();
  }

 private:
  int w_, h_;
  cudaStream_t stage_ = nullptr;
  std::vector<Frame> frames_;
  std::queue<Frame*> free_, ready_;
};

int main() {
  constexpr int kFrames = 120;
  RenderStage stage(1280, 720, 2);

  cudaStream_t compositor;
  CUDA_TRY(cudaStreamCreateWithFlags(&compositor, cudaStreamNonBlocking));
  uchar4 *layer = nullptr, *canvas = nullptr;
  CUDA_TRY(cudaMalloc(&layer, stage.bytes()));
  CUDA_TRY(cudaMalloc(&canvas, stage.bytes()));
  CUDA_TRY(cudaMemsetAsync(canvas, 0, stage.bytes(), compositor));

  stage.render(0.f);
  for (int i = 1; i <= kFrames; ++i) {
    stage.render(i / 30.f);
    stage.copy_to(layer, compositor);
    stage.release();
    blend<<<(stage.pixels() + 255) / 256, 256, 0, compositor>>>(canvas, layer, stage.pixels());
    CUDA_TRY(cudaGetLastError());
  }
  CUDA_TRY(cudaStreamSynchronize(compositor));
  std::printf("composited %d frames\n", kFrames);

  cudaFree(canvas);
  cudaFree(layer);
  cudaStreamDestroy(compositor);
  return 0;
}
