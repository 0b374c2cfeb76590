// Candidate ranking for a news feed.
//
// The scoring pipeline is captured into a graph once per user segment; the request
// loop replays it.  Pinned staging memory is pooled because segments are many.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define OK(e) expect_success((e), #e, __LINE__)
inline void expect_success(cudaError_t e, const char* what, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + " (line " + std::to_string(line) + "): " + cudaGetErrorString(e));
}

constexpr int kFeatures = 64;
constexpr int kItems = 4096;

class StagingPool {
 public:
  ~StagingPool() {
    for (float* p : idle_) cudaFreeHost(p);
  }

  struct Return {
    StagingPool* pool;
    void operator()(float* p) const { pool->idle_.push_back(p); }
  };
  using Buffer = std::unique_ptr<float[], Return>;

  Buffer take() {
    float* p = nullptr;
    if (idle_.empty()) {
      OK(cudaHostAlloc(reinterpret_cast<void**>(&p), kFeatures * sizeof(float), cudaHostAllocDefault));
    } else {
      p = idle_.back();
      idle_.pop_back();
    }
    return Buffer(p, Return{this});
  }

 private:
  std::vector<float*> idle_;
};

__global__ void score_items(const float* weights, const float* items, float* scores) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kItems) return;
  float s = 0.0f;
  for (int f = 0; f < kFeatures; ++f) s += weights[f] * items[i * kFeatures + f];
  scores[i] = s;
}

class Segment {
 public:
  Segment(StagingPool& pool, cudaStream_t stream, const float* items, const std::vector<float>& preferences)
      : stream_(stream) {
    OK(cudaMalloc(reinterpret_cast<void**>(&weights_), kFeatures * sizeof(float)));
    OK(cudaMalloc(reinterpret_cast<void**>(&scores_), kItems * sizeof(float)));
    capture(pool, items, preferences);
  }
  ~Segment() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(weights_);
    cudaFree(scores_);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Replays the pipeline and returns the index of the best item.
  int best() {
    OK(cudaGraphLaunch(exec_, stream_));
    std::vector<float> scores(kItems);
    OK(cudaMemcpyAsync(scores.data(), scores_, kItems * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    OK(cudaStreamSynchronize(stream_));
    return static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }

 private:
  void capture(StagingPool& pool, const float* items, const std::vector<float>& preferences) {
    StagingPool::Buffer staged = pool.take();
    std::copy_n(preferences.begin(), kFeatures, staged.get());

    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(weights_, staged.get(), kFeatures * sizeof(float), cudaMemcpyHostToDevice, stream_));
    score_items<<<(kItems + 127) / 128, 128, 0, stream_>>>(weights_, items, scores_);
    OK(cudaStreamEndCapture(stream_, &graph));
    OK(cudaGraphInstantiate(&exec_, graph, 0));
    OK(cudaGraphDestroy(graph));
  }

  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  float* weights_ = nullptr;
  float* scores_ = nullptr;
};

int main() {
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  std::vector<float> catalogue(static_cast<size_t>(kItems) * kFeatures);
  for (size_t i = 0; i < catalogue.size(); ++i) catalogue[i] = static_cast<float>((i * 2654435761u) % 1000) / 1000.0f;
  float* items = nullptr;
  OK(cudaMalloc(reinterpret_cast<void**>(&items), catalogue.size() * sizeof(float)));
  OK(cudaMemcpyAsync(items, catalogue.data(), catalogue.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  OK(cudaStreamSynchronize(stream));

  {
    StagingPool pool;
    std::vector<std::unique_ptr<Segment>> segments;
    for (int s = 0; s < 16; ++s) {
      std::vector<float> preferences(kFeatures);
      for (int f = 0; f < kFeatures; ++f) preferences[f] = (f % 16 == s) ? 1.0f : 0.1f;
      segments.push_back(std::make_unique<Segment>(pool, stream, items, preferences));
    }
    for (int request = 0; request < 1000; ++request) {
      const int s = request % 16;
      const int item = segments[s]->best();
      if (request < 16) std::printf("segment %2d: item %d\n", s, item);
    }
  }
  OK(cudaFree(items));
  OK(cudaStreamDestroy(stream));
  return 0;
}
