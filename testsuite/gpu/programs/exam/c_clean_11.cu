// Two kernels that run side by side: the consumer polls per-chunk flags which the producer publishes with
// release/acquire atomics.  The producer is launched first and needs nothing from the consumer.
#include <cuda/atomic>
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

constexpr int kChunks = 16, kChunk = 256, kRounds = 3;

__global__ void producer(float* data, unsigned* flags, unsigned epoch, int work) {
  const int c = blockIdx.x, t = threadIdx.x;
  float v = float(epoch + c);
  for (int k = 0; k < work * (c + 1); ++k) v = fmaf(v, 0.9999f, 1e-4f);
  data[c * kChunk + t] = v;
  __threadfence_system();
  __syncthreads();
  if (t == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> f(flags[c]);
    f.store(epoch, cuda::std::memory_order_release);
  }
}
__global__ void consumer(const float* data, unsigned* flags, unsigned epoch, float* acc) {
  const int c = blockIdx.x, t = threadIdx.x;
  if (t == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> f(flags[c]);
    while (f.load(cuda::std::memory_order_acquire) != epoch) __nanosleep(200);
    __threadfence_system();
  }
  __syncthreads();
  acc[c * kChunk + t] += data[c * kChunk + t];
}

int main() {
  cudaStream_t p, q;
  cudaEvent_t cleared, finished;
  for (auto* s : {&p, &q}) CK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  for (auto* e : {&cleared, &finished}) CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  float *data, *acc, *h;
  unsigned* flags;
  CK(cudaMalloc(&data, kChunks * kChunk * sizeof(float)));
  CK(cudaMalloc(&acc, kChunks * kChunk * sizeof(float)));
  CK(cudaMalloc(&flags, kChunks * sizeof(unsigned)));
  CK(cudaMallocHost(&h, sizeof(float)));
  CK(cudaMemsetAsync(flags, 0, kChunks * sizeof(unsigned), p));
  CK(cudaMemsetAsync(acc, 0, kChunks * kChunk * sizeof(float), p));
  CK(cudaEventRecord(cleared, p));
  CK(cudaStreamWaitEvent(q, cleared, 0));
  for (unsigned epoch = 1; epoch <= kRounds; ++epoch) {
    producer<<<kChunks, kChunk, 0, p>>>(data, flags, epoch, 20000);
    consumer<<<kChunks, kChunk, 0, q>>>(data, flags, epoch, acc);
    CK(cudaGetLastError());
    CK(cudaEventRecord(finished, q));  // data and flags are written again only when the consumer is through
    CK(cudaStreamWaitEvent(p, finished, 0));
  }
  CK(cudaMemcpyAsync(h, acc + 3, sizeof(float), cudaMemcpyDeviceToHost, q));
  CK(cudaStreamSynchronize(q));
  CK(cudaStreamSynchronize(p));
  std::printf("acc %f\n", *h);
  CK(cudaFree(data));
  CK(cudaFree(acc));
  CK(cudaFree(flags));
  CK(cudaFreeHost(h));
  for (auto s : {p, q}) CK(cudaStreamDestroy(s));
  for (auto e : {cleared, finished}) CK(cudaEventDestroy(e));
  return 0;
}
