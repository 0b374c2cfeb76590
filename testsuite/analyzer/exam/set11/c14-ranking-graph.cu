// Re-ranking as a graph: the host writes the request into the graph's own page-locked block, and the captured
// copy brings it to the device on every launch.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace rerank {

#define RR_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr int kCandidates = 512;

struct Request {
  int user;
  int count;
  int items[kCandidates];
};

__global__ void scoreCandidates(const Request* request, const float* users, const float* items, int dim, float* scores) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= request->count) return;
  const float* u = users + static_cast<std::size_t>(request->user) * dim;
  const float* v = items + static_cast<std::size_t>(request->items[c]) * dim;
  float s = 0.f;
  for (int d = 0; d < dim; ++d) s += u[d] * v[d];
  scores[c] = s;
}

template <typename T>
class PinnedBox {
 public:
  explicit PinnedBox(std::size_t n = 1) {
    RR_CHECK(cudaMallocHost(reinterpret_cast<void**>(&ptr_), n * sizeof(T)));
    std::fill_n(reinterpret_cast<char*>(ptr_), n * sizeof(T), char{0});
  }
  PinnedBox(const PinnedBox&) = delete;
  ~PinnedBox() { cudaFreeHost(ptr_); }
  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }

 private:
  T* ptr_ = nullptr;
};

struct Model {
  const float* users;
  const float* items;
  int dim;
};

class RerankGraph {
 public:
  explicit RerankGraph(const Model& model) : model_(model), scores_(kCandidates) {
    RR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RR_CHECK(cudaMalloc(reinterpret_cast<void**>(&deviceRequest_), sizeof(Request)));
    RR_CHECK(cudaMalloc(reinterpret_cast<void**>(&deviceScores_), kCandidates * sizeof(float)));
    capture();
  }
  RerankGraph(const RerankGraph&) = delete;
  RerankGraph& operator=(const RerankGraph&) = delete;
  ~RerankGraph() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(deviceRequest_);
    cudaFree(deviceScores_);
    cudaStreamDestroy(stream_);
  }

  // Best candidate first.
  std::vector<std::pair<float, int>> rank(int user, const std::vector<int>& candidates) {
    submit(user, candidates);
    RR_CHECK(cudaStreamSynchronize(stream_));
    return collect();
  }

  // Warms the caches of the device for a user whose request is about to come; nobody looks at the scores.
  void warm(int user, const std::vector<int>& candidates) { submit(user, candidates); }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    RR_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    RR_CHECK(cudaMemcpyAsync(deviceRequest_, request_.get(), sizeof(Request), cudaMemcpyHostToDevice, stream_));
    scoreCandidates<<<(kCandidates + 127) / 128, 128, 0, stream_>>>(deviceRequest_, model_.users, model_.items,
                                                                    model_.dim, deviceScores_);
    RR_CHECK(cudaMemcpyAsync(scores_.get(), deviceScores_, kCandidates * sizeof(float), cudaMemcpyDeviceToHost,
                             stream_));
    RR_CHECK(cudaStreamEndCapture(stream_, &graph));
    RR_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    RR_CHECK(cudaGraphDestroy(graph));
  }

  void submit(int user, const std::vector<int>& candidates) {
    // A warm-up may still be reading the request.
    RR_CHECK(cudaStreamSynchronize(stream_));
    request_->user = user;
    request_->count = static_cast<int>(std::min<std::size_t>(candidates.size(), kCandidates));
    std::copy_n(candidates.begin(), request_->count, request_->items);
    RR_CHECK(cudaGraphLaunch(exec_, stream_));
  }

  std::vector<std::pair<float, int>> collect() const {
    std::vector<std::pair<float, int>> out;
    for (int c = 0; c < request_->count; ++c) out.emplace_back(scores_.get()[c], request_->items[c]);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    return out;
  }

  Model model_;
  PinnedBox<Request> request_;
  PinnedBox<float> scores_;
  cudaStream_t stream_ = nullptr;
  Request* deviceRequest_ = nullptr;
  float* deviceScores_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

int bestOf(RerankGraph& graph, int user, int nextUser, const std::vector<int>& candidates) {
  const auto ranked = graph.rank(user, candidates);
  graph.warm(nextUser, candidates);
  return ranked.empty() ? -1 : ranked.front().second;
}

}  // namespace rerank
