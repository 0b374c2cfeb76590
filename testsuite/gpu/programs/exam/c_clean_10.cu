// Streaming upload through two pinned staging buffers and two device buffers, each with its own pair of events.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kN = 1 << 18, kChunks = 9;

__global__ void reduce_chunk(const float* x, float* acc, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  acc[i] += v;
}

class Uploader {
 public:
  Uploader() {
    for (auto& h : half_) {
      CK(cudaMallocHost(&h.staging, kN * sizeof(float)));
      CK(cudaMalloc(&h.device, kN * sizeof(float)));
      CK(cudaEventCreateWithFlags(&h.copied, cudaEventDisableTiming));
      CK(cudaEventCreateWithFlags(&h.consumed, cudaEventDisableTiming));
    }
    CK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&exec_, cudaStreamNonBlocking));
    CK(cudaMalloc(&acc_, kN * sizeof(float)));
    CK(cudaMemsetAsync(acc_, 0, kN * sizeof(float), exec_));
  }
  ~Uploader() {
    CK(cudaStreamSynchronize(copy_));
    CK(cudaStreamSynchronize(exec_));
    for (auto& h : half_) {
      cudaFreeHost(h.staging), cudaFree(h.device);
      cudaEventDestroy(h.copied), cudaEventDestroy(h.consumed);
    }
    cudaFree(acc_);
    cudaStreamDestroy(copy_), cudaStreamDestroy(exec_);
  }
  template <class Fill>
  void push(int chunk, Fill fill) {
    Half& h = half_[chunk % 2];
    CK(cudaEventSynchronize(h.copied));               // host: staging may be written again
    for (int i = 0; i < kN; ++i) h.staging[i] = fill(i);
    CK(cudaStreamWaitEvent(copy_, h.consumed, 0));    // device: buffer may be written again
    CK(cudaMemcpyAsync(h.device, h.staging, kN * sizeof(float), cudaMemcpyHostToDevice, copy_));
    CK(cudaEventRecord(h.copied, copy_));
    CK(cudaStreamWaitEvent(exec_, h.copied, 0));
    reduce_chunk<<<kN / 256, 256, 0, exec_>>>(h.device, acc_, kN, 30000);
    CK(cudaGetLastError());
    CK(cudaEventRecord(h.consumed, exec_));
  }
  float result(int i) {
    float v;
    CK(cudaStreamSynchronize(exec_));
    CK(cudaMemcpy(&v, acc_ + i, sizeof v, cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  struct Half {
    float *staging{}, *device{};
    cudaEvent_t copied{}, consumed{};
  };
  std::array<Half, 2> half_;
  cudaStream_t copy_{}, exec_{};
  float* acc_{};
};

int main() {
  Uploader up;
  for (int c = 0; c < kChunks; ++c) up.push(c, [c](int i) { return float(c + i % 5); });
  std::printf("acc %f\n", up.result(11));
  return 0;
}
