// Streaming matched filter: two instantiated graphs, one per half of a double buffer, are refilled and replayed in turn.
// Inside a graph the work forks into two branches.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                 \
  do {                                                                        \
    cudaError_t rc_ = (x);                                                    \
    if (rc_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc_));    \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

constexpr int kBlock = 1 << 16;

__global__ void real_part(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int k = 0; k < 32; ++k) acc += in[(i + k) % n] * cosf(0.1f * k);
  out[i] = acc;
}

__global__ void imag_part(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int k = 0; k < 32; ++k) acc += in[(i + k) % n] * sinf(0.1f * k);
  out[i] = acc;
}

__global__ void clear_peak(float* peak) { *peak = 0.0f; }

__global__ void find_peak(const float* re, const float* im, int n, float* peak) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float p = re[i] * re[i] + im[i] * im[i];
  atomicMax(reinterpret_cast<int*>(peak), __float_as_int(p));
}

struct Half {
  float* staging = nullptr;   // page-locked
  float* host_peak = nullptr; // page-locked
  float* in = nullptr;
  float* re = nullptr;
  float* im = nullptr;
  float* peak = nullptr;
  cudaEvent_t uploaded = nullptr;
  cudaEvent_t replayed = nullptr;
  cudaGraphExec_t exec = nullptr;
};

class MatchedFilter {
 public:
  MatchedFilter() {
    CK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    for (Half& h : half_) {
      CK(cudaMallocHost(&h.staging, kBlock * sizeof(float)));
      CK(cudaMallocHost(&h.host_peak, sizeof(float)));
      CK(cudaMalloc(&h.in, kBlock * sizeof(float)));
      CK(cudaMalloc(&h.re, kBlock * sizeof(float)));
      CK(cudaMalloc(&h.im, kBlock * sizeof(float)));
      CK(cudaMalloc(&h.peak, sizeof(float)));
      CK(cudaEventCreateWithFlags(&h.uploaded, cudaEventDisableTiming));
      CK(cudaEventCreateWithFlags(&h.replayed, cudaEventDisableTiming));
      build(h);
    }
  }

  ~MatchedFilter() {
    CK(cudaStreamSynchronize(upload_));
    CK(cudaStreamSynchronize(compute_));
    for (Half& h : half_) {
      cudaGraphExecDestroy(h.exec);
      cudaEventDestroy(h.replayed);
      cudaEventDestroy(h.uploaded);
      cudaFree(h.peak);
      cudaFree(h.im);
      cudaFree(h.re);
      cudaFree(h.in);
      cudaFreeHost(h.host_peak);
      cudaFreeHost(h.staging);
    }
    cudaEventDestroy(join_);
    cudaEventDestroy(fork_);
    cudaStreamDestroy(upload_);
    cudaStreamDestroy(side_);
    cudaStreamDestroy(compute_);
  }

  // Feeds block `index` and returns the peak of block `index - 2`.
  float feed(int index) {
    Half& h = half_[index % 2];
    float old = collect(h);
    for (int i = 0; i < kBlock; ++i) h.staging[i] = std::sin(0.1f * static_cast<float>(i)) * static_cast<float>(index % 7);
    CK(cudaMemcpyAsync(h.in, h.staging, kBlock * sizeof(float), cudaMemcpyHostToDevice, upload_));
    CK(cudaEventRecord(h.uploaded, upload_));
    CK(cudaStreamWaitEvent(compute_, h.uploaded, 0));
    CK(cudaGraphLaunch(h.exec, compute_));
    CK(cudaEventRecord(h.replayed, compute_));
    return old;
  }

  float last(int index) { return collect(half_[index % 2]); }

 private:
  // The host may reuse the half when its replay is over; the replay has waited for the upload.
  float collect(Half& h) {
    CK(cudaEventSynchronize(h.replayed));
    return *h.host_peak;
  }

  void build(Half& h) {
    cudaGraph_t graph = nullptr;
    *h.host_peak = 0.0f;
    CK(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeGlobal));
    clear_peak<<<1, 1, 0, compute_>>>(h.peak);
    CK(cudaEventRecord(fork_, compute_));
    CK(cudaStreamWaitEvent(side_, fork_, 0));
    real_part<<<kBlock / 256, 256, 0, compute_>>>(h.in, h.re, kBlock);
    imag_part<<<kBlock / 256, 256, 0, side_>>>(h.in, h.im, kBlock);
    CK(cudaEventRecord(join_, side_));
    CK(cudaStreamWaitEvent(compute_, join_, 0));
    find_peak<<<kBlock / 256, 256, 0, compute_>>>(h.re, h.im, kBlock, h.peak);
    CK(cudaMemcpyAsync(h.host_peak, h.peak, sizeof(float), cudaMemcpyDeviceToHost, compute_));
    CK(cudaStreamEndCapture(compute_, &graph));
    CK(cudaGraphInstantiate(&h.exec, graph, 0));
    CK(cudaGraphDestroy(graph));
  }

  Half half_[2];
  cudaStream_t compute_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaStream_t upload_ = nullptr;
  cudaEvent_t fork_ = nullptr;
  cudaEvent_t join_ = nullptr;
};

int main() {
  MatchedFilter filter;
  const int blocks = 50;
  for (int b = 0; b < blocks; ++b) {
    float peak = filter.feed(b);
    if (b >= 2) std::printf("block %d: %g\n", b - 2, peak);
  }
  std::printf("block %d: %g\n", blocks - 2, filter.last(blocks - 2));
  std::printf("block %d: %g\n", blocks - 1, filter.last(blocks - 1));
  return 0;
}
