// Captured fork/join graph, updated between launches, replayed from two streams (launches of one executable
// graph are ordered among themselves).
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

constexpr int kN = 1 << 15;

__global__ void source(float* p, int n, float seed, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = seed;
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-3f);
  p[i] = v;
}
__global__ void branch(const float* in, float* out, int n, float scale, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i] * scale;
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  out[i] = v;
}
__global__ void join(const float* l, const float* r, float* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += l[i] + r[i];
}

struct Buffers {
  float *src{}, *left{}, *right{}, *acc{};
  Buffers() {
    for (auto** p : {&src, &left, &right, &acc}) {
      CK(cudaMalloc(p, kN * sizeof(float)));
      CK(cudaMemset(*p, 0, kN * sizeof(float)));
    }
    CK(cudaDeviceSynchronize());
  }
  ~Buffers() {
    for (auto* p : {src, left, right, acc}) cudaFree(p);
  }
};

static cudaGraph_t capture(const Buffers& b, float seed) {
  cudaStream_t main, side;
  cudaEvent_t forked, joined;
  for (auto* s : {&main, &side}) CK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  for (auto* e : {&forked, &joined}) CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  cudaGraph_t g;
  CK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  source<<<kN / 256, 256, 0, main>>>(b.src, kN, seed, 20000);
  CK(cudaEventRecord(forked, main));
  CK(cudaStreamWaitEvent(side, forked, 0));
  branch<<<kN / 256, 256, 0, side>>>(b.src, b.right, kN, 0.5f, 100000);
  branch<<<kN / 256, 256, 0, main>>>(b.src, b.left, kN, 2.0f, 50000);
  CK(cudaEventRecord(joined, side));
  CK(cudaStreamWaitEvent(main, joined, 0));
  join<<<kN / 256, 256, 0, main>>>(b.left, b.right, b.acc, kN);
  CK(cudaStreamEndCapture(main, &g));
  for (auto s : {main, side}) CK(cudaStreamDestroy(s));
  for (auto e : {forked, joined}) CK(cudaEventDestroy(e));
  return g;
}

int main() {
  Buffers buf;
  cudaStream_t s[2];
  for (auto& x : s) CK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  cudaGraph_t g = capture(buf, 1.0f);
  cudaGraphExec_t exec;
  CK(cudaGraphInstantiate(&exec, g, 0));
  for (int it = 0; it < 6; ++it) {
    if (it == 3) {  // new seed: affects the launches to come, not the ones in flight
      cudaGraph_t g2 = capture(buf, 2.0f);
      cudaGraphExecUpdateResultInfo info;
      CK(cudaGraphExecUpdate(exec, g2, &info));
      CK(cudaGraphDestroy(g2));
    }
    CK(cudaGraphLaunch(exec, s[it % 2]));
  }
  for (auto x : s) CK(cudaStreamSynchronize(x));
  float h;
  CK(cudaMemcpy(&h, buf.acc + 2, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("acc %f\n", h);
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(g));
  for (auto x : s) CK(cudaStreamDestroy(x));
  return 0;
}
