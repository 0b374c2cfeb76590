#include <cuda_runtime.h>

#include <functional>
#include <cstdio>
#include <cstdlib>

#define G(x)                                                     \
  {                                                              \
    cudaError_t g_ = (x);                                        \
    if (g_ != cudaSuccess) {                                     \
      fprintf(stderr, #x ": %s\n", cudaGetErrorString(g_));      \
      abort();                                                   \
    }                                                            \
  }

__global__ void attn_bias(float* bias, const int* lengths, int max_len)
{
  int b = blockIdx.y;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < max_len) bias[b * max_len + i] = i < lengths[b] ? 0.f : -1e9f;
}

__global__ void qk_scores(const float* q, const float* k, float* s, int dim, int max_len)
{
  int b = blockIdx.y;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= max_len) return;
  float acc = 0.f;
  for (int d = 0; d < dim; ++d) acc += q[b * dim + d] * k[((size_t)b * max_len + i) * dim + d];
  s[b * max_len + i] = acc;
}

struct AttnBuffers
{
  const float *q, *k;
  const int* lengths;
  float *bias, *scores;
};

class CapturedStep
{
public:
  CapturedStep()
  {
    G(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    G(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    G(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    G(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
  }

  ~CapturedStep()
  {
    cudaStreamSynchronize(main_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaEventDestroy(join_);
    cudaEventDestroy(fork_);
    cudaStreamDestroy(side_);
    cudaStreamDestroy(main_);
  }

  CapturedStep(const CapturedStep&) = delete;

  void record(const AttnBuffers& b, int batch, int dim, int max_len)
  {
    cudaGraph_t graph;
    begin();
    enqueue(b, batch, dim, max_len);
    G(cudaStreamEndCapture(main_, &graph));
    if (exec_) G(cudaGraphExecDestroy(exec_));
    G(cudaGraphInstantiate(&exec_, graph, 0));
    G(cudaGraphDestroy(graph));
  }

  void launch() { G(cudaGraphLaunch(exec_, main_)); }
  void wait() { G(cudaStreamSynchronize(main_)); }

private:
  void begin() { G(cudaStreamBeginCapture(main_, cudaStreamCaptureModeRelaxed)); }

  // The mask does not depend on q and k, so it runs beside the scores.
  void enqueue(const AttnBuffers& b, int batch, int dim, int max_len)
  {
    dim3 grid((max_len + 127) / 128, batch);
    G(cudaEventRecord(fork_, main_));
    G(cudaStreamWaitEvent(side_, fork_, 0));
    attn_bias<<<grid, 128, 0, side_>>>(b.bias, b.lengths, max_len);
    G(cudaGetLastError());
    G(cudaEventRecord(join_, side_));
    qk_scores<<<grid, 128, 0, main_>>>(b.q, b.k, b.scores, dim, max_len);
    G(cudaGetLastError());
  }

  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};
