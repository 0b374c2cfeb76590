// Ranking engine: short candidate lists run through a captured graph, bulk
// refreshes run eagerly. Both need scratch for the per-candidate logits.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rank {

void throwOn(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define THROW_ON(x) ::rank::throwOn((x), #x)

constexpr int kDim = 64;
constexpr int kShort = 256;

__global__ void dotUser(const float* items, const float* user, int n, float* logits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int d = 0; d < kDim; ++d) acc += items[i * kDim + d] * user[d];
  logits[i] = acc;
}

__global__ void softmax(const float* logits, int n, float* prob) {
  __shared__ float top, sum;
  if (threadIdx.x == 0) {
    top = logits[0];
    for (int i = 1; i < n; ++i) top = fmaxf(top, logits[i]);
    sum = 0.f;
    for (int i = 0; i < n; ++i) sum += expf(logits[i] - top);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) prob[i] = expf(logits[i] - top) / sum;
}

// Scratch that grows on demand.
class Workspace {
 public:
  ~Workspace() { cudaFree(base_); }

  float* floats(std::size_t n, cudaStream_t stream) {
    if (n > capacity_) {
      THROW_ON(cudaStreamSynchronize(stream));
      THROW_ON(cudaFree(base_));
      base_ = nullptr;
      capacity_ = 0;
      THROW_ON(cudaMalloc(reinterpret_cast<void**>(&base_), n * sizeof(float)));
      capacity_ = n;
    }
    return base_;
  }

 private:
  float* base_ = nullptr;
  std::size_t capacity_ = 0;
};

class ShortListGraph {
 public:
  ShortListGraph() {
    THROW_ON(cudaMalloc(reinterpret_cast<void**>(&items_), kShort * kDim * sizeof(float)));
    THROW_ON(cudaMalloc(reinterpret_cast<void**>(&user_), kDim * sizeof(float)));
    THROW_ON(cudaMalloc(reinterpret_cast<void**>(&prob_), kShort * sizeof(float)));
  }
  ~ShortListGraph() {
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(items_);
    cudaFree(user_);
    cudaFree(prob_);
  }
  ShortListGraph(const ShortListGraph&) = delete;
  ShortListGraph& operator=(const ShortListGraph&) = delete;

  void capture(float* logits, cudaStream_t s) {
    cudaGraph_t graph = nullptr;
    THROW_ON(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    dotUser<<<kShort / 128, 128, 0, s>>>(items_, user_, kShort, logits);
    softmax<<<1, 256, 0, s>>>(logits, kShort, prob_);
    THROW_ON(cudaStreamEndCapture(s, &graph));
    THROW_ON(cudaGraphInstantiate(&exec_, graph, 0));
    THROW_ON(cudaGraphDestroy(graph));
  }

  const float* run(const float* items, const float* user, cudaStream_t s) {
    THROW_ON(cudaMemcpyAsync(items_, items, kShort * kDim * sizeof(float), cudaMemcpyDeviceToDevice, s));
    THROW_ON(cudaMemcpyAsync(user_, user, kDim * sizeof(float), cudaMemcpyDeviceToDevice, s));
    THROW_ON(cudaGraphLaunch(exec_, s));
    return prob_;
  }

 private:
  float *items_ = nullptr, *user_ = nullptr, *prob_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// All device inputs are ready on `stream`; results are ready there. Short lists
// and bulk refreshes come in any order.
class Ranker {
 public:
  explicit Ranker(cudaStream_t stream) : stream_(stream) {
    graph_.capture(scratch_.floats(kShort, stream_), stream_);
  }
  ~Ranker() { cudaStreamSynchronize(stream_); }

  const float* rankShort(const float* items, const float* user) { return graph_.run(items, user, stream_); }

  void rankBulk(const float* items, const float* user, int n, float* prob) {
    float* logits = scratch_.floats(n, stream_);
    dotUser<<<(n + 127) / 128, 128, 0, stream_>>>(items, user, n, logits);
    softmax<<<1, 256, 0, stream_>>>(logits, n, prob);
    THROW_ON(cudaGetLastError());
  }

 private:
  cudaStream_t stream_;
  Workspace scratch_;
  ShortListGraph graph_;
};

}  // namespace rank
