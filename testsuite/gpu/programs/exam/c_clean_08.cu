// Ping-pong between two streams ordered by stream memory operations (cuStreamWriteValue32 / cuStreamWaitValue32).
// Every write is enqueued before the wait it satisfies.
#include <cuda.h>
#include <cuda_runtime.h>

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

#define DRV(x)                                                              \
  do {                                                                      \
    CUresult r_ = (x);                                                      \
    if (r_ != CUDA_SUCCESS) {                                               \
      const char* s_ = "?";                                                 \
      cuGetErrorString(r_, &s_);                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, s_);           \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

constexpr int kN = 1 << 15, kRounds = 6;

__global__ void produce(float* p, int n, int round, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(round);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.99999f, 1e-5f);
  p[i] = v;
}
__global__ void consume(const float* p, float* acc, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = p[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.99999f, 1e-5f);
  acc[i] += v;
}

class Doorbells {  // two monotonic counters in device memory
 public:
  Doorbells() {
    DRV(cuMemAlloc(&base_, 2 * sizeof(cuuint32_t)));
    DRV(cuMemsetD32(base_, 0, 2));
    DRV(cuCtxSynchronize());
  }
  ~Doorbells() { cuMemFree(base_); }
  void ring(int which, CUstream s, cuuint32_t v) {
    DRV(cuStreamWriteValue32(s, addr(which), v, CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  void wait(int which, CUstream s, cuuint32_t v) {
    DRV(cuStreamWaitValue32(s, addr(which), v, CU_STREAM_WAIT_VALUE_GEQ));
  }

 private:
  CUdeviceptr addr(int w) const { return base_ + w * sizeof(cuuint32_t); }
  CUdeviceptr base_ = 0;
};

int main() {
  CK(cudaFree(nullptr));
  cudaStream_t prod, cons;
  CK(cudaStreamCreateWithFlags(&prod, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&cons, cudaStreamNonBlocking));
  float *buf, *acc;
  CK(cudaMalloc(&buf, kN * sizeof(float)));
  CK(cudaMalloc(&acc, kN * sizeof(float)));
  CK(cudaMemsetAsync(acc, 0, kN * sizeof(float), cons));
  float h;
  {
    Doorbells bell;
    enum { kProduced, kConsumed };
    for (cuuint32_t r = 1; r <= kRounds; ++r) {
      bell.wait(kConsumed, prod, r - 1);
      produce<<<kN / 256, 256, 0, prod>>>(buf, kN, int(r), 100000);
      bell.ring(kProduced, prod, r);
      bell.wait(kProduced, cons, r);
      consume<<<kN / 256, 256, 0, cons>>>(buf, acc, kN, 100000);
      bell.ring(kConsumed, cons, r);
      CK(cudaGetLastError());
    }
    CK(cudaStreamSynchronize(prod));
    CK(cudaStreamSynchronize(cons));
  }
  CK(cudaMemcpy(&h, acc + 7, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("acc %f\n", h);
  CK(cudaFree(buf));
  CK(cudaFree(acc));
  CK(cudaStreamDestroy(prod));
  CK(cudaStreamDestroy(cons));
  return 0;
}
