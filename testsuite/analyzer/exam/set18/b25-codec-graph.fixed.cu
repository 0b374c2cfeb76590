// Streaming audio decoder: one decode step is a CUDA graph that writes 20 ms of
// samples to a fixed device buffer; every step's samples are then kept in a
// device-side history, which the mixer reads between two calls of run().
#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

namespace codec {

inline void check(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::cerr << "codec.cu:" << line << ' ' << cudaGetErrorString(e) << '\n';
    std::exit(EXIT_FAILURE);
  }
}
#define CHECK(x) ::codec::check((x), __LINE__)

constexpr int kFrame = 480;
constexpr int kLatent = 128;

__global__ void advanceLatent(float* latent, const float* drive) {
  int i = threadIdx.x;
  if (i < kLatent) latent[i] = tanhf(0.95f * latent[i] + drive[i]);
}

__global__ void synthesise(const float* latent, const float* basis, float* pcm) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= kFrame) return;
  float acc = 0.f;
  for (int i = 0; i < kLatent; ++i) acc += latent[i] * basis[i * kFrame + t];
  pcm[t] = acc;
}

template <class T>
struct Buffer {
  explicit Buffer(size_t n) : count(n) {
    CHECK(cudaMalloc(&ptr, n * sizeof(T)));
    CHECK(cudaMemset(ptr, 0, n * sizeof(T)));
  }
  ~Buffer() { cudaFree(ptr); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* ptr = nullptr;
  size_t count;
};

class StepGraph {
 public:
  StepGraph(cudaStream_t s, float* latent, const float* drive, const float* basis, float* pcm) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    advanceLatent<<<1, kLatent, 0, s>>>(latent, drive);
    synthesise<<<(kFrame + 127) / 128, 128, 0, s>>>(latent, basis, pcm);
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    CHECK(cudaGraphDestroy(graph));
  }
  ~StepGraph() { cudaGraphExecDestroy(exec_); }
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;
  void replay(cudaStream_t s) const { CHECK(cudaGraphLaunch(exec_, s)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class Decoder {
 public:
  Decoder(const float* deviceBasis, int historyFrames)
      : latent_(kLatent), drive_(kLatent), pcm_(kFrame), history_(size_t(kFrame) * historyFrames),
        frames_(historyFrames) {
    CHECK(cudaStreamCreateWithFlags(&decode_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&archive_, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&frameDone_, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&frameKept_, cudaEventDisableTiming));
    CHECK(cudaDeviceSynchronize());
    graph_ = std::make_unique<StepGraph>(decode_, latent_.ptr, drive_.ptr, deviceBasis, pcm_.ptr);
  }
  ~Decoder() {
    cudaStreamSynchronize(decode_);
    cudaStreamSynchronize(archive_);
    graph_.reset();
    cudaEventDestroy(frameDone_);
    cudaEventDestroy(frameKept_);
    cudaStreamDestroy(decode_);
    cudaStreamDestroy(archive_);
  }

  // Decodes `steps` frames back to back and returns the history. Frame k of
  // the call lies at k * kFrame. The host waits only once, at the end.
  const float* run(int steps) {
    for (int k = 0; k < steps && k < frames_; ++k) {
      step();
      keep(k);
    }
    CHECK(cudaEventSynchronize(frameKept_));
    return history_.ptr;
  }

 private:
  void step() {
    CHECK(cudaStreamWaitEvent(decode_, frameKept_, 0));
    graph_->replay(decode_);
    CHECK(cudaEventRecord(frameDone_, decode_));
  }

  void keep(int k) {
    CHECK(cudaStreamWaitEvent(archive_, frameDone_, 0));
    CHECK(cudaMemcpyAsync(history_.ptr + size_t(k) * kFrame, pcm_.ptr, kFrame * sizeof(float),
                          cudaMemcpyDeviceToDevice, archive_));
    CHECK(cudaEventRecord(frameKept_, archive_));
  }

  Buffer<float> latent_, drive_, pcm_, history_;
  int frames_;
  cudaStream_t decode_ = nullptr, archive_ = nullptr;
  cudaEvent_t frameDone_ = nullptr, frameKept_ = nullptr;
  std::unique_ptr<StepGraph> graph_;
};

}  // namespace codec
