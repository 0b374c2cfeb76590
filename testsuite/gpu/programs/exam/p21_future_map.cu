// Overlap scheduler: token ids of unfinished batches pass through a device-side FutureMap.
// Modelled on sgl-project/sglang#35748.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_ASSERT(x)                                                                   \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kRows = 4096;

__global__ void forward_batch(const int* input_ids, float* hidden, int n, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float h = float(input_ids[i] & 1023);
  for (int l = 0; l < layers; ++l) h = fmaf(h, 0.9999f, 0.01f);
  hidden[i] = h;
}
__global__ void sample_and_stash(const float* hidden, int* future_rows, int n, int draws) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float u = hidden[i];
  for (int d = 0; d < draws; ++d) u = fmaf(u, 1.00001f, 0.003f);
  future_rows[i] = int(u);
}
__global__ void publish_rows(int* future_rows, int* req_tokens, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  req_tokens[i] = future_rows[i];
  future_rows[i] = -1 - step;
}

class FutureMap {
 public:
  FutureMap() { CUDA_ASSERT(cudaMalloc(&rows_, kRows * sizeof(int))); }
  ~FutureMap() { cudaFree(rows_); }
  void stash(const float* hidden, cudaStream_t s) {
    sample_and_stash<<<kRows / 128, 128, 0, s>>>(hidden, rows_, kRows, 250000);
    CUDA_ASSERT(cudaGetLastError());
  }
  void publish(int* req_tokens, int step, cudaStream_t s) {
    publish_rows<<<kRows / 128, 128, 0, s>>>(rows_, req_tokens, kRows, step);
    CUDA_ASSERT(cudaGetLastError());
  }
  int* rows() { return rows_; }

 private:
  int* rows_{};
};

class Scheduler {
 public:
  Scheduler() {
    CUDA_ASSERT(cudaStreamCreateWithFlags(&schedule_, cudaStreamNonBlocking));
    CUDA_ASSERT(cudaStreamCreateWithFlags(&forward_, cudaStreamNonBlocking));
    CUDA_ASSERT(cudaEventCreateWithFlags(&forward_done_, cudaEventDisableTiming));
    CUDA_ASSERT(cudaEventCreateWithFlags(&published_, cudaEventDisableTiming));
    CUDA_ASSERT(cudaMalloc(&tokens_, kRows * sizeof(int)));
    CUDA_ASSERT(cudaMalloc(&hidden_, kRows * sizeof(float)));
    CUDA_ASSERT(cudaMemsetAsync(tokens_, 0, kRows * sizeof(int), schedule_));
    CUDA_ASSERT(cudaMemsetAsync(futures_.rows(), 0, kRows * sizeof(int), schedule_));
    CUDA_ASSERT(cudaEventRecord(published_, schedule_));
  }
  ~Scheduler() {
    cudaStreamSynchronize(schedule_), cudaStreamSynchronize(forward_);
    cudaFree(tokens_), cudaFree(hidden_);
    cudaEventDestroy(forward_done_), cudaEventDestroy(published_);
    cudaStreamDestroy(schedule_), cudaStreamDestroy(forward_);
  }
  void run_batch(int step) {
    CUDA_ASSERT(cudaStreamWaitEvent(forward_, published_, 0));
    forward_batch<<<kRows / 128, 128, 0, forward_>>>(tokens_, hidden_, kRows, 20000);
    CUDA_ASSERT(cudaGetLastError());
#ifndef FIXED
    CUDA_ASSERT(cudaEventRecord(forward_done_, forward_));
#endif
    futures_.stash(hidden_, forward_);
#ifdef FIXED
    CUDA_ASSERT(cudaEventRecord(forward_done_, forward_));
#endif
    CUDA_ASSERT(cudaStreamWaitEvent(schedule_, forward_done_, 0));
    futures_.publish(tokens_, step, schedule_);
    CUDA_ASSERT(cudaEventRecord(published_, schedule_));
  }
  int token(int i) {
    int h;
    CUDA_ASSERT(cudaStreamSynchronize(schedule_));
    CUDA_ASSERT(cudaMemcpy(&h, tokens_ + i, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  FutureMap futures_;
  cudaStream_t schedule_{}, forward_{};
  cudaEvent_t forward_done_{}, published_{};
  int* tokens_{};
  float* hidden_{};
};

int main() {
  Scheduler sched;
  for (int step = 0; step < 4; ++step) sched.run_batch(step);
  std::printf("token %d\n", sched.token(5));
  CUDA_ASSERT(cudaDeviceSynchronize());
  return 0;
}
