// Count-min sketch for telecom call records: hashing and update are chained by
// programmatic dependent launch.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SK(x)                                                             \
  do {                                                                    \
    cudaError_t e = (x);                                                  \
    if (e != cudaSuccess) {                                               \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e));        \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

constexpr int kWidth = 1 << 14;

__device__ __forceinline__ void waitPrimary() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void letDependentsStart() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void hashRecords(const uint64_t* records, uint32_t* slots, int n, uint64_t seed) {
  letDependentsStart();
  waitPrimary();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slots[i] = static_cast<uint32_t>((records[i] * seed) >> 40) % kWidth;
}

class SlotReader {
 public:
  __device__ SlotReader(const uint32_t* slots, int i) : slot_(slots[i]) {}
  __device__ uint32_t slot() const { return slot_; }

 private:
  uint32_t slot_;
};

__global__ void updateSketch(const uint32_t* slots, uint32_t* sketch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  waitPrimary();
  if (i >= n) return;
  SlotReader reader(slots, i);
  atomicAdd(&sketch[reader.slot()], 1u);
}

template <typename... Params, typename... Args>
void launch(void (*kernel)(Params...), int n, cudaStream_t s, Args... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3((n + 255) / 256);
  cfg.blockDim = dim3(256);
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  SK(cudaLaunchKernelEx(&cfg, kernel, static_cast<Params>(args)...));
}

int main() {
  const int n = 1 << 20;
  std::vector<uint64_t> records(n);
  for (int i = 0; i < n; ++i) records[i] = 0x9e3779b97f4a7c15ull * (i % 5000);

  cudaStream_t stream = nullptr;
  uint64_t* dRecords = nullptr;
  uint32_t *slots = nullptr, *sketch = nullptr;
  SK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SK(cudaMalloc(reinterpret_cast<void**>(&dRecords), n * sizeof(uint64_t)));
  SK(cudaMalloc(reinterpret_cast<void**>(&slots), n * sizeof(uint32_t)));
  SK(cudaMalloc(reinterpret_cast<void**>(&sketch), kWidth * sizeof(uint32_t)));
  SK(cudaMemcpyAsync(dRecords, records.data(), n * sizeof(uint64_t), cudaMemcpyHostToDevice, stream));
  SK(cudaMemsetAsync(sketch, 0, kWidth * sizeof(uint32_t), stream));
  for (uint64_t seed : {3ull, 5ull, 7ull}) {
    launch(hashRecords, n, stream, dRecords, slots, n, seed);
    launch(updateSketch, n, stream, slots, sketch, n);
  }
  std::vector<uint32_t> out(kWidth);
  SK(cudaMemcpyAsync(out.data(), sketch, kWidth * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream));
  SK(cudaStreamSynchronize(stream));
  std::printf("sketch[0]=%u\n", out[0]);
  SK(cudaFree(dRecords));
  SK(cudaFree(slots));
  SK(cudaFree(sketch));
  SK(cudaStreamDestroy(stream));
  return 0;
}
