// Iterative phase retrieval: the inner update is recorded once and replayed for every projection.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#define GPU_TRY(call)                                                          \
  do {                                                                         \
    if (cudaError_t rc = (call); rc != cudaSuccess) {                          \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(rc));  \
      std::exit(EXIT_FAILURE);                                                 \
    }                                                                          \
  } while (0)

namespace ptycho {

__global__ void apply_modulus(float2* wave, const float* amplitude, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 w = wave[i];
  float m = rsqrtf(w.x * w.x + w.y * w.y + 1e-12f) * amplitude[i];
  wave[i] = make_float2(w.x * m, w.y * m);
}

__global__ void project_support(float2* wave, const float2* guess, float beta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 w = wave[i], g = guess[i];
  wave[i] = make_float2(g.x + beta * (w.x - g.x), g.y + beta * (w.y - g.y));
}

__global__ void widen(const unsigned short* counts, float* amplitude, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) amplitude[i] = sqrtf(static_cast<float>(counts[i]));
}

__global__ void zero_hot_pixels(unsigned short* counts, const unsigned char* hot, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && hot[i]) counts[i] = 0;
}

// Scratch that lives in the stream's memory pool.
class PoolBuffer {
 public:
  PoolBuffer(size_t bytes, cudaStream_t s) : stream_(s) { GPU_TRY(cudaMallocAsync(&p_, bytes, s)); }
  ~PoolBuffer() { GPU_TRY(cudaFreeAsync(p_, stream_)); }
  PoolBuffer(const PoolBuffer&) = delete;
  PoolBuffer& operator=(const PoolBuffer&) = delete;
  template <class T>
  T* as() const { return static_cast<T*>(p_); }

 private:
  void* p_ = nullptr;
  cudaStream_t stream_;
};

class StepGraph {
 public:
  ~StepGraph() {
    if (exec_) cudaGraphExecDestroy(exec_);
  }

  bool ready() const { return exec_ != nullptr; }

  template <class Body>
  void record(cudaStream_t s, Body&& body) {
    cudaGraph_t g{};
    GPU_TRY(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    body(s);
    GPU_TRY(cudaStreamEndCapture(s, &g));
    if (exec_) GPU_TRY(cudaGraphExecDestroy(exec_));
    GPU_TRY(cudaGraphInstantiate(&exec_, g, 0));
    GPU_TRY(cudaGraphDestroy(g));
  }

  void replay(cudaStream_t s, int times) {
    for (int i = 0; i < times; ++i) GPU_TRY(cudaGraphLaunch(exec_, s));
  }

 private:
  cudaGraphExec_t exec_{};
};

class Solver {
 public:
  explicit Solver(int pixels) : n_(pixels) {
    GPU_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU_TRY(cudaMalloc(&wave_, n_ * sizeof(float2)));
    GPU_TRY(cudaMalloc(&guess_, n_ * sizeof(float2)));
    GPU_TRY(cudaMalloc(&counts_, n_ * sizeof(unsigned short)));
    GPU_TRY(cudaMemsetAsync(wave_, 0, n_ * sizeof(float2), stream_));
    GPU_TRY(cudaMemsetAsync(guess_, 0, n_ * sizeof(float2), stream_));
  }

  ~Solver() {
    cudaStreamSynchronize(stream_);
    cudaFree(counts_);
    cudaFree(guess_);
    cudaFree(wave_);
    cudaStreamDestroy(stream_);
  }

  // hot: optional pixel mask of this exposure. Both host arrays are page-locked.
  void refine(const unsigned short* detector, const unsigned char* hot, int iterations) {
    std::unique_ptr<PoolBuffer> mask;
    if (hot) mask = std::make_unique<PoolBuffer>(n_, stream_);
    PoolBuffer amplitude(n_ * sizeof(float), stream_);
    GPU_TRY(cudaMemcpyAsync(counts_, detector, n_ * sizeof(unsigned short),
                            cudaMemcpyHostToDevice, stream_));
    if (mask) {
      GPU_TRY(cudaMemcpyAsync(mask->as<unsigned char>(), hot, n_, cudaMemcpyHostToDevice, stream_));
      zero_hot_pixels<<<blocks(), 256, 0, stream_>>>(counts_, mask->as<unsigned char>(), n_);
    }
    widen<<<blocks(), 256, 0, stream_>>>(counts_, amplitude.as<float>(), n_);

    if (!graph_.ready()) {
      graph_.record(stream_, [&](cudaStream_t s) {
        apply_modulus<<<blocks(), 256, 0, s>>>(wave_, amplitude.as<float>(), n_);
        project_support<<<blocks(), 256, 0, s>>>(wave_, guess_, 0.9f, n_);
      });
    }
    graph_.replay(stream_, iterations);
  }

  void wait() { GPU_TRY(cudaStreamSynchronize(stream_)); }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  int n_;
  cudaStream_t stream_{};
  float2* wave_ = nullptr;
  float2* guess_ = nullptr;
  unsigned short* counts_ = nullptr;
  StepGraph graph_;
};

}  // namespace ptycho

int main() {
  constexpr int kPixels = 512 * 512;
  constexpr int kFrames = 32;
  unsigned short* frames = nullptr;
  GPU_TRY(cudaMallocHost(&frames, sizeof(unsigned short) * kPixels * kFrames));
  for (int i = 0; i < kPixels * kFrames; ++i) frames[i] = static_cast<unsigned short>(i % 977);
  unsigned char* hot = nullptr;
  GPU_TRY(cudaMallocHost(&hot, kPixels));
  for (int i = 0; i < kPixels; ++i) hot[i] = i % 4099 == 0;
  {
    ptycho::Solver solver(kPixels);
    for (int f = 0; f < kFrames; ++f) 
      solver.refine(frames + f * kPixels, f % 3 ? hot : nullptr, 25);
    solver.wait();
  }
  GPU_TRY(cudaFreeHost(hot));
  GPU_TRY(cudaFreeHost(frames));
  return 0;
}
