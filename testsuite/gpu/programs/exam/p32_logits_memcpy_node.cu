// Token loop: the logits of each step are published by a small hand-built graph (copy + sampling kernel).
// Modelled on kekzl/imp#1648.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define IMP_CUDA(x)                                                                      \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kVocab = 1 << 15;

__global__ void lm_head(float* logits, int rows, int step, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * kVocab) return;
  float v = float((i * 131 + step * 17) & 4095);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-3f);
  logits[i] = v;
}
__global__ void argmax(const float* row, int n, int* token) {
  __shared__ int best[256];
  int b = threadIdx.x;
  for (int i = threadIdx.x; i < n; i += 256)
    if (row[i] > row[b]) b = i;
  best[threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < 256; ++t)
      if (row[best[t]] > row[b]) b = best[t];
    *token = b;
  }
}

class Publisher {
 public:
  Publisher(int* token) {
    IMP_CUDA(cudaMalloc(&row_, kVocab * sizeof(float)));
    token_ = token;
  }
  ~Publisher() {
    if (exec_) cudaGraphExecDestroy(exec_), cudaGraphDestroy(graph_);
    cudaFree(row_);
  }
  void publish(const float* logits, cudaStream_t s) {
    if (!exec_) build(logits);
#ifdef FIXED
    else IMP_CUDA(cudaGraphExecMemcpyNodeSetParams1D(exec_, copy_, row_, logits, kVocab * sizeof(float), cudaMemcpyDeviceToDevice));
#endif
    IMP_CUDA(cudaGraphLaunch(exec_, s));
  }

 private:
  void build(const float* logits) {
    IMP_CUDA(cudaGraphCreate(&graph_, 0));
    IMP_CUDA(cudaGraphAddMemcpyNode1D(&copy_, graph_, nullptr, 0, row_, logits, kVocab * sizeof(float), cudaMemcpyDeviceToDevice));
    int n = kVocab;
    void* args[] = {&row_, &n, &token_};
    cudaKernelNodeParams kp{};
    kp.func = reinterpret_cast<void*>(&argmax);
    kp.gridDim = dim3(1);
    kp.blockDim = dim3(256);
    kp.kernelParams = args;
    IMP_CUDA(cudaGraphAddKernelNode(&sample_, graph_, &copy_, 1, &kp));
    IMP_CUDA(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  float* row_{};
  int* token_{};
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
  cudaGraphNode_t copy_{}, sample_{};
};

int main() {
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  IMP_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  IMP_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  cudaStream_t stream;
  IMP_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int *token, *host;
  IMP_CUDA(cudaMalloc(&token, sizeof(int)));
  IMP_CUDA(cudaMallocHost(&host, sizeof(int)));
  auto new_logits = [&](int rows) {
    float* p;
    IMP_CUDA(cudaMallocAsync(&p, size_t(rows) * kVocab * sizeof(float), stream));
    return p;
  };
  constexpr int kSteps = 2;  // prompt, then one speculative verification
  for (int request = 0; request < 3; ++request) {
    Publisher pub(token);
    float* logits = new_logits(1);
    for (int step = 0; step < kSteps; ++step) {
      const int rows = 1 + 3 * step;
      // the buffer of the coming step is requested while this one runs
      float* next = step + 1 < kSteps ? new_logits(1 + 3 * (step + 1)) : nullptr;
      lm_head<<<rows * kVocab / 256, 256, 0, stream>>>(logits, rows, step + request, 20000);
      IMP_CUDA(cudaGetLastError());
      pub.publish(logits, stream);
      IMP_CUDA(cudaFreeAsync(logits, stream));
      logits = next;
    }
    IMP_CUDA(cudaMemcpyAsync(host, token, sizeof(int), cudaMemcpyDeviceToHost, stream));
    IMP_CUDA(cudaStreamSynchronize(stream));
    std::printf("request %d token %d\n", request, *host);
  }
  cudaFree(token), cudaFreeHost(host), cudaStreamDestroy(stream);
  IMP_CUDA(cudaGetLastError());
  return 0;
}
