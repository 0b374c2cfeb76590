// Virtual-memory backed weight arena whose tail can be taken off the device ("sleep") and brought back.
// Modelled on vllm-project/vllm#43020.
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// A failure inside the engine is logged and ends the demo; the process itself is not a test and returns 0.
static void stop(const char* what, const char* msg, int line) {
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, msg);
  std::fflush(stderr);
  std::exit(0);
}
#define RT(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) stop(#x, cudaGetErrorString(e_), __LINE__); } while (0)
#define DRV(x) do { CUresult r_ = (x); if (r_ != CUDA_SUCCESS) { const char* s_ = "?"; cuGetErrorString(r_, &s_); stop(#x, s_, __LINE__); } } while (0)

class VmArena {
 public:
  explicit VmArena(int chunks) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = 0;
    DRV(cuMemGetAllocationGranularity(&chunk_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    handles_.resize(chunks);
    DRV(cuMemAddressReserve(&base_, chunk_ * chunks, 0, 0, 0));
    for (int i = 0; i < chunks; ++i) map(i);
  }
  ~VmArena() {
    for (size_t i = 0; i < handles_.size(); ++i)
      if (handles_[i]) unmap(int(i));
    DRV(cuMemAddressFree(base_, chunk_ * handles_.size()));
  }
  void map(int i) {
    DRV(cuMemCreate(&handles_[i], chunk_, &prop_, 0));
    DRV(cuMemMap(base_ + i * chunk_, chunk_, 0, handles_[i], 0));
    CUmemAccessDesc acc{};
    acc.location = prop_.location;
    acc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV(cuMemSetAccess(base_ + i * chunk_, chunk_, &acc, 1));
  }
  void unmap(int i) {
    DRV(cuMemUnmap(base_ + i * chunk_, chunk_));
    DRV(cuMemRelease(handles_[i]));
    handles_[i] = 0;
  }
  float* chunk(int i) const { return reinterpret_cast<float*>(base_ + i * chunk_); }
  size_t chunk_floats() const { return chunk_ / sizeof(float); }

 private:
  CUmemAllocationProp prop_{};
  size_t chunk_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

__global__ void load_weights(float* w, size_t n, float v) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) w[i] = v;
}
// Gathers its weights first, then works on registers for a long time.
__global__ void decode(const float* w, size_t n, float* logits, int layers) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float acc = 0;
  for (size_t i = t; i < n; i += size_t(gridDim.x) * blockDim.x) acc += w[i];
  for (int l = 0; l < layers; ++l) acc = fmaf(acc, 0.99999f, 1e-5f);
  logits[t] = acc;
}

class Engine {
 public:
  explicit Engine(VmArena& arena) : arena_(arena) {
    RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT(cudaMalloc(&logits_, kTokens * sizeof(float)));
    RT(cudaMallocHost(&host_, kTokens * sizeof(float)));
  }
  ~Engine() { cudaStreamDestroy(stream_), cudaFree(logits_), cudaFreeHost(host_); }
  void wake_up(int c) {
    load_weights<<<64, 256, 0, stream_>>>(arena_.chunk(c), arena_.chunk_floats(), 0.5f + c);
    RT(cudaStreamSynchronize(stream_));
  }
  void step(int c) {
    decode<<<kTokens / 256, 256, 0, stream_>>>(arena_.chunk(c), arena_.chunk_floats(), logits_, 1500000);
    RT(cudaGetLastError());
    RT(cudaMemcpyAsync(host_, logits_, kTokens * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }
  void sleep(int c) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // requests drained, bookkeeping
#ifdef FIXED
    RT(cudaStreamSynchronize(stream_));
#endif
    arena_.unmap(c);
  }
  float result() {
    RT(cudaStreamSynchronize(stream_));
    return host_[0];
  }

 private:
  static constexpr int kTokens = 1 << 13;
  VmArena& arena_;
  cudaStream_t stream_{};
  float *logits_{}, *host_{};
};

int main() {
  RT(cudaSetDevice(0));
  RT(cudaFree(nullptr));
  VmArena arena(3);
  Engine engine(arena);
  for (int round = 0; round < 3; ++round) {
    engine.wake_up(2);
    engine.step(2);
    engine.sleep(2);
    std::printf("round %d logit %f\n", round, engine.result());
    arena.map(2);
  }
  return 0;
}
