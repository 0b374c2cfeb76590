// Workspace manager of an inference server with captured decode graphs.  Modelled on vllm-project/vllm#52553.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#define CUDA_CHECK(x)                                                                    \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

__global__ void split_kv_partial(float* ws, int n, float q, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = q + float(i & 63);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-3f);
  ws[i] = v;
}
__global__ void combine(const float* ws, float* out, int n, int splits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / splits) return;
  float s = 0;
  for (int k = 0; k < splits; ++k) s += ws[i * splits + k];
  out[i] = s;
}

class WorkspaceManager {
 public:
  explicit WorkspaceManager(cudaStream_t s) : stream_(s) {}
  ~WorkspaceManager() {
    for (void* p : retired_) cudaFreeAsync(p, stream_);
    if (ptr_) cudaFreeAsync(ptr_, stream_);
  }
  float* reserve(size_t bytes) {
    if (bytes > bytes_) {
      if (ptr_) {
#ifdef FIXED
        retired_.push_back(ptr_);  // captured graphs may hold this address
#else
        CUDA_CHECK(cudaFreeAsync(ptr_, stream_));
#endif
      }
      CUDA_CHECK(cudaMallocAsync(&ptr_, bytes, stream_));
      bytes_ = bytes;
    }
    return static_cast<float*>(ptr_);
  }

 private:
  cudaStream_t stream_;
  void* ptr_{};
  size_t bytes_ = 0;
  std::vector<void*> retired_;
};

class ModelRunner {
 public:
  ModelRunner() {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&out_, (1 << 20) * sizeof(float)));
    ws_ = new WorkspaceManager(stream_);
  }
  ~ModelRunner() {
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    for (auto& g : graphs_) cudaGraphExecDestroy(g.second);
    delete ws_;
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    cudaFree(out_);
    cudaStreamDestroy(stream_);
  }
  void capture(int batch) {
    const int n = batch * 1024;
    float* ws = ws_->reserve(n * sizeof(float));
    cudaGraph_t g;
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    launch(ws, n);
    CUDA_CHECK(cudaStreamEndCapture(stream_, &g));
    CUDA_CHECK(cudaGraphInstantiate(&graphs_[batch], g, 0));
    CUDA_CHECK(cudaGraphDestroy(g));
  }
  void execute(int batch) {
    auto it = graphs_.find(batch);
    if (it != graphs_.end()) {
      CUDA_CHECK(cudaGraphLaunch(it->second, stream_));
    } else {  // eager, e.g. a long prefill
      launch(ws_->reserve(size_t(batch) * 1024 * sizeof(float)), batch * 1024);
    }
  }
  float read() {
    float h;
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    CUDA_CHECK(cudaMemcpy(&h, out_, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  void launch(float* ws, int n) {
    split_kv_partial<<<n / 256, 256, 0, stream_>>>(ws, n, 1.5f, 50000);
    CUDA_CHECK(cudaGetLastError());
    combine<<<n / 256, 256, 0, stream_>>>(ws, out_, n, 4);
    CUDA_CHECK(cudaGetLastError());
  }
  cudaStream_t stream_{};
  float* out_{};
  WorkspaceManager* ws_{};
  std::map<int, cudaGraphExec_t> graphs_;
};

int main() {
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  ModelRunner runner;
  runner.capture(32);
  for (int step = 0; step < 3; ++step) runner.execute(32);
  runner.execute(96);  // outgrows the workspace
  for (int step = 0; step < 3; ++step) runner.execute(32);
  std::printf("out %f\n", runner.read());
  return 0;
}
