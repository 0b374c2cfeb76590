// Copies KV block offsets of the running batch to the device each step.

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <vector>
#include <cstdlib>
#include <cstdio>

#define CUDACHECK(cmd) do {                         \
  cudaError_t err = cmd;                            \
  if (err != cudaSuccess) {                         \
    printf("Failed: CUDA error %s:%d '%s'\n",       \
        __FILE__,__LINE__,cudaGetErrorString(err)); \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)

struct Request {
  std::vector<int> blocks;
};

__global__ void gatherPages(const int* offsets, int maxBlocks, const half2* pool, half2* out, int pageElems);

class BlockTable {
  int  maxBatch, maxBlocks;
  int* hostOffsets = nullptr;    // pinned, reused in every step
  int* devOffsets  = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t  uploaded = nullptr;

  size_t bytesFor(int batch) const { return sizeof(int) * (size_t)batch * maxBlocks; }

  void fill(const std::vector<Request>& batch) {
    for (size_t r = 0; r < batch.size(); ++r) {
      const auto& b = batch[r].blocks;
      for (int i = 0; i < maxBlocks; ++i)
        hostOffsets[r * maxBlocks + i] = i < (int)b.size() ? b[i] : -1;
    }
  }

  void upload(int batch) {
    CUDACHECK(cudaMemcpyAsync(devOffsets, hostOffsets, bytesFor(batch),
                              cudaMemcpyHostToDevice, stream));
    CUDACHECK(cudaEventRecord(uploaded, stream));
  }

public:
  BlockTable(int maxBatch_, int maxBlocks_) : maxBatch(maxBatch_), maxBlocks(maxBlocks_) {
    CUDACHECK(cudaHostAlloc((void**)&hostOffsets, bytesFor(maxBatch), cudaHostAllocDefault));
    CUDACHECK(cudaMalloc((void**)&devOffsets, bytesFor(maxBatch)));
    CUDACHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDACHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
  }

  ~BlockTable() {
    CUDACHECK(cudaStreamSynchronize(stream));
    CUDACHECK(cudaEventDestroy(uploaded));
    CUDACHECK(cudaStreamDestroy(stream));
    CUDACHECK(cudaFreeHost(hostOffsets));
    CUDACHECK(cudaFree(devOffsets));
  }

  BlockTable(const BlockTable&) = delete;

  // Called by the scheduler, which runs one step ahead of the device.
  const int* prepare(const std::vector<Request>& batch) {
    // The copy of the previous step must have read the pinned table.
    CUDACHECK(cudaEventSynchronize(uploaded));
    fill(batch);
    upload((int)batch.size());
    return devOffsets;
  }

  void attend(const std::vector<Request>& batch, const half2* pool, half2* out, int pageElems);
};

__global__ void gatherPages(const int* offsets, int maxBlocks, const half2* pool, half2* out, int pageElems) {
  int page = offsets[blockIdx.y * maxBlocks + blockIdx.x];
  if (page < 0) return;
  const half2* src = pool + (size_t)page * pageElems;
  half2* dst = out + ((size_t)blockIdx.y * maxBlocks + blockIdx.x) * pageElems;
  for (int i = threadIdx.x; i < pageElems; i += blockDim.x) dst[i] = src[i];
}

void BlockTable::attend(const std::vector<Request>& batch, const half2* pool, half2* out, int pageElems) {
  const int* offsets = prepare(batch);
  dim3 grid(maxBlocks, (unsigned)batch.size());
  gatherPages<<<grid, 128, 0, stream>>>(offsets, maxBlocks, pool, out, pageElems);
  CUDACHECK(cudaGetLastError());
}
