#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include <assert.h>
#define CU_OK(x) do { cudaError_t _e = (x); assert(_e == cudaSuccess); (void)_e; } while (0)

__global__ void embed_rows(const int32_t *tokens, const float *table, float *hidden, int dim)
{
  int t = blockIdx.x;
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    hidden[t * dim + d] = table[(size_t)tokens[t] * dim + d];
}

__global__ void project_logits(const float *hidden, const float *w, float *logits, int dim, int vocab)
{
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= vocab)
    return;
  float s = 0.f;
  for (int d = 0; d < dim; ++d)
    s += hidden[blockIdx.y * dim + d] * w[(size_t)v * dim + d];
  logits[(size_t)blockIdx.y * vocab + v] = s;
}

struct StepBuffers
{
  int32_t *d_tokens;
  float   *d_hidden;
  float   *d_logits;
  float   *h_logits;  // page-locked
};

/// One decode step of the model; logits go back over a separate copy stream so
/// that the next step's embedding can start right away.
class DecodeStep
{
public:
  DecodeStep(int dim, int vocab, const float *table, const float *w)
      : dim_(dim), vocab_(vocab), table_(table), w_(w)
  {
    CU_OK(cudaStreamCreateWithFlags(&forward_, cudaStreamNonBlocking));
    CU_OK(cudaStreamCreateWithFlags(&d2h_, cudaStreamNonBlocking));
    CU_OK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    CU_OK(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
  }

  ~DecodeStep()
  {
    cudaStreamSynchronize(forward_);
    cudaStreamSynchronize(d2h_);
    cudaEventDestroy(copied_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(d2h_);
    cudaStreamDestroy(forward_);
  }

  void run(StepBuffers &b, int batch)
  {
    // The logits of the previous step must have left before we overwrite them.
    CU_OK(cudaStreamWaitEvent(forward_, copied_, 0));

    embed_rows<<<batch, 128, 0, forward_>>>(b.d_tokens, table_, b.d_hidden, dim_);
    dim3 grid((vocab_ + 255) / 256, batch);
    project_logits<<<grid, 256, 0, forward_>>>(b.d_hidden, w_, b.d_logits, dim_, vocab_);
    CU_OK(cudaGetLastError());
    CU_OK(cudaEventRecord(ready_, forward_));

    CU_OK(cudaStreamWaitEvent(d2h_, ready_, 0));
    CU_OK(cudaMemcpyAsync(b.h_logits, b.d_logits, sizeof(float) * batch * vocab_,
                          cudaMemcpyDeviceToHost, d2h_));
    CU_OK(cudaEventRecord(copied_, d2h_));
  }

  const float *wait(const StepBuffers &b)
  {
    CU_OK(cudaEventSynchronize(copied_));
    return b.h_logits;
  }

private:
  int dim_, vocab_;
  const float *table_, *w_;
  cudaStream_t forward_, d2h_;
  cudaEvent_t ready_, copied_;
};
