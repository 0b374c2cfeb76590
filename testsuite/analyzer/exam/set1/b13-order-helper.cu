#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace video {

static void die(cudaError_t e, const char* file, int line) {
  std::fprintf(stderr, "[video] %s:%d: %s\n", file, line, cudaGetErrorString(e));
  std::exit(1);
}
#define VID(x)                                      \
  do {                                              \
    cudaError_t vid_e = (x);                        \
    if (vid_e != cudaSuccess) die(vid_e, __FILE__, __LINE__); \
  } while (0)

// Work enqueued on `later` from now on runs after everything that has been
// enqueued on `earlier` so far.
class Sequencer {
 public:
  Sequencer() { VID(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming)); }
  ~Sequencer() { cudaEventDestroy(mark_); }
  void order(cudaStream_t earlier, cudaStream_t later) {
    VID(cudaEventRecord(mark_, earlier));
    VID(cudaStreamWaitEvent(later, mark_, 0));
  }

 private:
  cudaEvent_t mark_ = nullptr;
};

__global__ void nv12_to_planar(const uint8_t* nv12, float* rgb, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float luma = nv12[y * w + x] * (1.f / 255.f);
  float u = nv12[w * h + (y / 2) * w + (x & ~1)] * (1.f / 255.f) - 0.5f;
  float v = nv12[w * h + (y / 2) * w + (x | 1)] * (1.f / 255.f) - 0.5f;
  rgb[0 * w * h + y * w + x] = luma + 1.402f * v;
  rgb[1 * w * h + y * w + x] = luma - 0.344f * u - 0.714f * v;
  rgb[2 * w * h + y * w + x] = luma + 1.772f * u;
}

__global__ void saliency(const float* rgb, float* score, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w || y >= h) return;
  const float* r = rgb;
  score[y * w + x] = fabsf(r[y * w + x] - r[y * w + x - 1]) + fabsf(r[y * w + x] - r[(y - 1) * w + x]);
}

class FramePipeline {
 public:
  FramePipeline(int w, int h) : w_(w), h_(h) {
    VID(cudaStreamCreateWithFlags(&decode_, cudaStreamNonBlocking));
    VID(cudaStreamCreateWithFlags(&infer_, cudaStreamNonBlocking));
    VID(cudaMalloc(&rgb_, sizeof(float) * 3 * w * h));
  }
  ~FramePipeline() {
    VID(cudaStreamSynchronize(decode_));
    VID(cudaStreamSynchronize(infer_));
    VID(cudaFree(rgb_));
    VID(cudaStreamDestroy(infer_));
    VID(cudaStreamDestroy(decode_));
  }
  FramePipeline(const FramePipeline&) = delete;

  cudaStream_t decode_stream() const { return decode_; }

  // `nv12` was produced on decode_stream().
  void push(const uint8_t* nv12, float* score) {
    dim3 block(32, 8), grid((w_ + 31) / 32, (h_ + 7) / 8);
    // The frame before has to be consumed before rgb_ is written again.
    seq_.order(infer_, decode_);
    nv12_to_planar<<<grid, block, 0, decode_>>>(nv12, rgb_, w_, h_);
    VID(cudaGetLastError());

    seq_.order(infer_, decode_);
    saliency<<<grid, block, 0, infer_>>>(rgb_, score, w_, h_);
    VID(cudaGetLastError());
  }

  void flush() { VID(cudaStreamSynchronize(infer_)); }

 private:
  int w_, h_;
  float* rgb_ = nullptr;
  cudaStream_t decode_ = nullptr;
  cudaStream_t infer_ = nullptr;
  Sequencer seq_;
};

}  // namespace video
