// Captured talker model: each replay leaves its code in a static output tensor, which a codec stream clones.
// Modelled on sgl-project/sglang-omni#1369.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kFrames = 1 << 14;

__global__ void talker(float* static_out, const int* step, int n, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(*step);
  static_out[i] = v;
  for (int l = 0; l < layers; ++l) v = fmaf(v, 0.99999f, 1e-4f);
  static_out[i] = v;
}
__global__ void bump(int* step) { ++*step; }
__global__ void clone_upsample(const float* src, float* dst, int n, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0;
  for (int block = 0; block < 50; ++block) {
    acc += src[(i + block) % n];
    for (int t = 0; t < taps; ++t) acc = fmaf(acc, 0.9999f, 1e-5f);
  }
  dst[i] = acc;
}

class Stream {
 public:
  Stream() { CK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }
  void wait_event(cudaEvent_t e) { CK(cudaStreamWaitEvent(s_, e, 0)); }

 private:
  cudaStream_t s_{};
};

class CapturedTalker {
 public:
  explicit CapturedTalker(Stream& s) : stream_(s) {
    CK(cudaMalloc(&static_out_, kFrames * sizeof(float)));
    CK(cudaMalloc(&step_, sizeof(int)));
    CK(cudaMemsetAsync(step_, 0, sizeof(int), stream_));
    CK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    cudaGraph_t g;
    CK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    bump<<<1, 1, 0, stream_>>>(step_);
    talker<<<kFrames / 128, 128, 0, stream_>>>(static_out_, step_, kFrames, 50000);
    CK(cudaStreamEndCapture(stream_, &g));
    CK(cudaGraphInstantiate(&exec_, g, 0));
    CK(cudaGraphDestroy(g));
  }
  ~CapturedTalker() {
    cudaGraphExecDestroy(exec_);
    cudaEventDestroy(ready_);
    cudaFree(static_out_), cudaFree(step_);
  }
  cudaEvent_t replay() {
    CK(cudaGraphLaunch(exec_, stream_));
    CK(cudaEventRecord(ready_, stream_));
    return ready_;
  }
  const float* output() const { return static_out_; }

 private:
  Stream& stream_;
  float* static_out_{};
  int* step_{};
  cudaEvent_t ready_{};
  cudaGraphExec_t exec_{};
};

int main() {
  constexpr int steps = 5;
  Stream talker_stream, codec_stream;
  cudaEvent_t cloned;
  CK(cudaEventCreateWithFlags(&cloned, cudaEventDisableTiming));
  std::vector<float*> clones(steps);
  for (auto& c : clones) CK(cudaMalloc(&c, kFrames * sizeof(float)));
  {
    CapturedTalker model(talker_stream);
    for (int s = 0; s < steps; ++s) {
      cudaEvent_t ready = model.replay();
      codec_stream.wait_event(ready);
      clone_upsample<<<kFrames / 128, 128, 0, codec_stream>>>(model.output(), clones[s], kFrames, 6000);
      CK(cudaGetLastError());
#ifdef FIXED
      CK(cudaEventRecord(cloned, codec_stream));
      talker_stream.wait_event(cloned);
#endif
    }
    CK(cudaStreamSynchronize(talker_stream));
    CK(cudaStreamSynchronize(codec_stream));
  }
  for (auto c : clones) {
    float h;
    CK(cudaMemcpy(&h, c, sizeof h, cudaMemcpyDeviceToHost));
    std::printf("%f\n", h);
    CK(cudaFree(c));
  }
  CK(cudaEventDestroy(cloned));
  return 0;
}
