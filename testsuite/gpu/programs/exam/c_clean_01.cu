// Three-stage pipeline: capture -> (transfer lane) -> inference.  The producer and the consumer never share an
// event: the order passes through the transfer lane.
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

constexpr int kN = 1 << 15, kFrames = 6;

__global__ void acquire(float* raw, int n, int frame, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(frame * 10 + (i & 7));
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.99999f, 1e-5f);
  raw[i] = v;
}
__global__ void tick(int* counter) { ++*counter; }
__global__ void infer(const float* raw, float* score, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = raw[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  score[i] += v;
}

// Hands the past of one stream on to another.
class Baton {
 public:
  Baton() { CK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Baton() { cudaEventDestroy(e_); }
  void pass(cudaStream_t from, cudaStream_t to) {
    CK(cudaEventRecord(e_, from));
    CK(cudaStreamWaitEvent(to, e_, 0));
  }

 private:
  cudaEvent_t e_{};
};

int main() {
  cudaStream_t camera, lane, net;
  for (auto* s : {&camera, &lane, &net}) CK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  float *raw, *score, *host;
  int* counter;
  CK(cudaMalloc(&raw, kN * sizeof(float)));
  CK(cudaMalloc(&score, kN * sizeof(float)));
  CK(cudaMalloc(&counter, sizeof(int)));
  CK(cudaMallocHost(&host, kN * sizeof(float)));
  CK(cudaMemsetAsync(score, 0, kN * sizeof(float), camera));  // first use of `score` in net comes through the lane
  CK(cudaMemsetAsync(counter, 0, sizeof(int), lane));
  {
    Baton baton;  // one event, recorded again and again: each wait keeps the state it saw
    for (int f = 0; f < kFrames; ++f) {
      acquire<<<kN / 256, 256, 0, camera>>>(raw, kN, f, 100000);
      baton.pass(camera, lane);
      tick<<<1, 1, 0, lane>>>(counter);
      baton.pass(lane, net);
      infer<<<kN / 256, 256, 0, net>>>(raw, score, kN, 100000);
      CK(cudaGetLastError());
      baton.pass(net, lane);  // and back: the frame buffer may be filled again
      baton.pass(lane, camera);
    }
    CK(cudaMemcpyAsync(host, score, kN * sizeof(float), cudaMemcpyDeviceToHost, camera));
    CK(cudaStreamSynchronize(camera));
  }
  std::printf("score %f\n", host[3]);
  for (auto s : {camera, lane, net}) CK(cudaStreamDestroy(s));
  CK(cudaFree(raw));
  CK(cudaFree(score));
  CK(cudaFree(counter));
  CK(cudaFreeHost(host));
  return 0;
}
