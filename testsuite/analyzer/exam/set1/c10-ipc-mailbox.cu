// One-slot mailbox between two processes on one GPU: memory and two
// interprocess events; the turn is passed over a pipe.
#include <cuda_runtime.h>

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace ipc {

#define IPC_CUDA(x)                                                          \
  do {                                                                       \
    cudaError_t r = (x);                                                     \
    if (r != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r));           \
      std::_Exit(2);                                                         \
    }                                                                        \
  } while (0)

struct Address {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t full;
  cudaIpcEventHandle_t empty;
};

inline void put(int fd, const void* p, size_t n) {
  if (::write(fd, p, n) != static_cast<ssize_t>(n)) std::_Exit(3);
}
inline void get(int fd, void* p, size_t n) {
  if (::read(fd, p, n) != static_cast<ssize_t>(n)) std::_Exit(3);
}

__global__ void produce(float* slot, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slot[i] = static_cast<float>(step) + 0.001f * i;
}
__global__ void consume(const float* slot, float* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += slot[i];
}

void sender(int to, int from, int n, int steps) {
  cudaStream_t stream;
  cudaEvent_t full, empty;
  float* slot = nullptr;
  IPC_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  IPC_CUDA(cudaEventCreateWithFlags(&full, cudaEventDisableTiming | cudaEventInterprocess));
  IPC_CUDA(cudaEventCreateWithFlags(&empty, cudaEventDisableTiming | cudaEventInterprocess));
  IPC_CUDA(cudaMalloc(&slot, n * sizeof(float)));

  Address a;
  IPC_CUDA(cudaIpcGetMemHandle(&a.memory, slot));
  IPC_CUDA(cudaIpcGetEventHandle(&a.full, full));
  IPC_CUDA(cudaIpcGetEventHandle(&a.empty, empty));
  put(to, &a, sizeof a);

  char token = 0;
  for (int s = 0; s < steps; ++s) {
    if (s > 0) {
      get(from, &token, 1);  // `empty` has been recorded for step s - 1
      IPC_CUDA(cudaStreamWaitEvent(stream, empty, 0));
    }
    produce<<<(n + 255) / 256, 256, 0, stream>>>(slot, n, s);
    IPC_CUDA(cudaGetLastError());
    IPC_CUDA(cudaEventRecord(full, stream));
    put(to, &token, 1);
  }
  get(from, &token, 1);
  get(from, &token, 1);  // the receiver has closed the memory
  IPC_CUDA(cudaStreamSynchronize(stream));
  IPC_CUDA(cudaFree(slot));
  IPC_CUDA(cudaEventDestroy(empty));
  IPC_CUDA(cudaEventDestroy(full));
  IPC_CUDA(cudaStreamDestroy(stream));
}

void receiver(int to, int from, int n, int steps, float* acc) {
  Address a;
  get(from, &a, sizeof a);

  cudaStream_t stream;
  cudaEvent_t full, empty;
  void* slot = nullptr;
  IPC_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  IPC_CUDA(cudaIpcOpenMemHandle(&slot, a.memory, cudaIpcMemLazyEnablePeerAccess));
  IPC_CUDA(cudaIpcOpenEventHandle(&full, a.full));
  IPC_CUDA(cudaIpcOpenEventHandle(&empty, a.empty));

  char token = 0;
  IPC_CUDA(cudaMemsetAsync(acc, 0, n * sizeof(float), stream));
  for (int s = 0; s < steps; ++s) {
    get(from, &token, 1);
    IPC_CUDA(cudaStreamWaitEvent(stream, full, 0));
    consume<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<const float*>(slot), acc, n);
    IPC_CUDA(cudaGetLastError());
    IPC_CUDA(cudaEventRecord(empty, stream));
    put(to, &token, 1);
  }
  IPC_CUDA(cudaStreamSynchronize(stream));
  IPC_CUDA(cudaIpcCloseMemHandle(slot));
  IPC_CUDA(cudaEventDestroy(empty));
  IPC_CUDA(cudaEventDestroy(full));
  put(to, &token, 1);
  IPC_CUDA(cudaStreamDestroy(stream));
}

}  // namespace ipc
