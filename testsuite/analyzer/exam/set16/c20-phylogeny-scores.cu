// Likelihood of phylogenetic trees: tables are refreshed on the default stream, trees are scored on ordinary streams.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#define PHYLO_CHECK(e)                                                                     \
  do {                                                                                     \
    cudaError_t rc = (e);                                                                  \
    if (rc != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));     \
      std::abort();                                                                        \
    }                                                                                      \
  } while (0)

namespace phylo {

constexpr int kStates = 4;

__global__ void exponentiate(const float* rates, float* transition, int categories, float branch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < categories * kStates * kStates) transition[i] = __expf(-branch * rates[i]);
}

__global__ void scoreSites(const unsigned char* sites, const float* transition, float* logLikelihood, int n, int categories) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float like = 0.f;
  for (int c = 0; c < categories; ++c)
    for (int s = 0; s < kStates; ++s) like += transition[(c * kStates + sites[i]) * kStates + s];
  logLikelihood[i] = __logf(like / categories);
}

using RateModel = std::function<float(int category, int from, int to)>;

class ModelRegistry {
 public:
  void add(const std::string& name, RateModel model) { models_[name] = std::move(model); }
  const RateModel& get(const std::string& name) const { return models_.at(name); }

 private:
  std::map<std::string, RateModel> models_;
};

// Transition tables; all updates go through the default stream.
class Tables {
 public:
  Tables(const RateModel& model, int categories) : categories_(categories), host_(categories * kStates * kStates) {
    for (int c = 0; c < categories; ++c)
      for (int a = 0; a < kStates; ++a)
        for (int b = 0; b < kStates; ++b) host_[(c * kStates + a) * kStates + b] = model(c, a, b);
    PHYLO_CHECK(cudaMalloc(&rates_, host_.size() * sizeof(float)));
    PHYLO_CHECK(cudaMalloc(&transition_, host_.size() * sizeof(float)));
    PHYLO_CHECK(cudaMemcpy(rates_, host_.data(), host_.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  Tables(const Tables&) = delete;
  ~Tables() {
    cudaDeviceSynchronize();
    cudaFree(transition_);
    cudaFree(rates_);
  }

  void update(float branch) {
    exponentiate<<<(int(host_.size()) + 127) / 128, 128>>>(rates_, transition_, categories_, branch);
    PHYLO_CHECK(cudaGetLastError());
  }
  const float* transition() const { return transition_; }
  int categories() const { return categories_; }

 private:
  int categories_;
  std::vector<float> host_;
  float* rates_ = nullptr;
  float* transition_ = nullptr;
};

class TreeScorer {
 public:
  TreeScorer(int sites, int seed) : n_(sites) {
    // Blocking stream on purpose: it takes part in the order of the default stream.
    PHYLO_CHECK(cudaStreamCreate(&stream_));
    PHYLO_CHECK(cudaMalloc(&sites_, sites));
    PHYLO_CHECK(cudaMalloc(&scores_, sites * sizeof(float)));
    PHYLO_CHECK(cudaMemsetAsync(sites_, seed % kStates, sites, stream_));
  }
  TreeScorer(const TreeScorer&) = delete;
  ~TreeScorer() {
    cudaStreamSynchronize(stream_);
    cudaFree(scores_);
    cudaFree(sites_);
    cudaStreamDestroy(stream_);
  }

  void score(const Tables& tables) {
    scoreSites<<<(n_ + 255) / 256, 256, 0, stream_>>>(sites_, tables.transition(), scores_, n_, tables.categories());
    PHYLO_CHECK(cudaGetLastError());
  }

  double total() {
    std::vector<float> host(n_);
    PHYLO_CHECK(cudaMemcpy(host.data(), scores_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float v : host) sum += v;
    return sum;
  }

 private:
  int n_;
  cudaStream_t stream_{};
  unsigned char* sites_ = nullptr;
  float* scores_ = nullptr;
};

}  // namespace phylo

int main() {
  using namespace phylo;
  ModelRegistry registry;
  registry.add("jc69", [](int c, int a, int b) { return a == b ? 0.f : 0.25f * (c + 1); });
  Tables tables(registry.get("jc69"), 4);
  TreeScorer first(1 << 18, 1), second(1 << 18, 2);
  double best = -1e30;
  for (int i = 1; i <= 20; ++i) {
    tables.update(0.05f * i);
    first.score(tables);
    second.score(tables);
    double sum = first.total() + second.total();
    best = sum > best ? sum : best;
  }
  std::printf("best %.3f\n", best);
  return 0;
}
