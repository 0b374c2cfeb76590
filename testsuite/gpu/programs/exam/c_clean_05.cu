// Prioritised *blocking* streams around work on the legacy default stream: the barrier of the default stream is
// all the order there is, and all that is needed.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kN = 1 << 15;

__global__ void stage_a(float* p, int n, int round, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(round + (i & 3));
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  p[i] = v;
}
__global__ void mix(const float* a, const float* b, float* c, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = a[i] * b[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  c[i] = v;
}
__global__ void consume(const float* c, float* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += c[i];
}

int main() {
  int least, greatest;
  CK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t low, high, tail;
  CK(cudaStreamCreateWithPriority(&low, cudaStreamDefault, least));
  CK(cudaStreamCreateWithPriority(&high, cudaStreamDefault, greatest));
  CK(cudaStreamCreate(&tail));
  float *a, *b, *c, *acc;
  for (auto** p : {&a, &b, &c, &acc}) CK(cudaMalloc(p, kN * sizeof(float)));
  CK(cudaMemset(acc, 0, kN * sizeof(float)));  // default stream: before everything below
  for (int round = 0; round < 5; ++round) {
    stage_a<<<kN / 256, 256, 0, low>>>(a, kN, round, 150000);
    stage_a<<<kN / 256, 256, 0, high>>>(b, kN, round + 1, 20000);
    mix<<<kN / 256, 256>>>(a, b, c, kN, 50000);  // default stream: after both, before the rest
    consume<<<kN / 256, 256, 0, tail>>>(c, acc, kN);
    CK(cudaGetLastError());
    // c is written again in the next round by the default stream, which waits for `tail`
  }
  std::vector<float> h(kN);
  CK(cudaMemcpy(h.data(), acc, kN * sizeof(float), cudaMemcpyDeviceToHost));  // waits for `tail` too
  std::printf("acc %f\n", h[1]);
  CK(cudaDeviceSynchronize());
  for (auto s : {low, high, tail}) CK(cudaStreamDestroy(s));
  for (auto p : {a, b, c, acc}) CK(cudaFree(p));
  return 0;
}
