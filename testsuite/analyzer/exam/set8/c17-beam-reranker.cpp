// Re-ranking of beam-search hypotheses: scores of several language models are computed in streams of their own, summed
// on the caller's stream and brought to the host without stopping the stream; the host looks at them one call later.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace rerank {

using at::Tensor;
using at::cuda::CUDAEvent;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

// A unigram-with-context scorer; stands for one of the models of the ensemble.
class Scorer {
 public:
  Scorer(Tensor embedding, Tensor projection, float weight)
      : embedding_(std::move(embedding)),
        projection_(std::move(projection)),
        weight_(weight),
        stream_(c10::cuda::getStreamFromPool(false, embedding_.device().index())) {}

  ~Scorer() { stream_.synchronize(); }

  CUDAStream stream() const { return stream_; }
  CUDAEvent& scored() { return scored_; }

  // tokens: [beams, length]; runs in the scorer's stream behind `inputs`.
  Tensor score(const Tensor& tokens, CUDAEvent& inputs) {
    CUDAStreamGuard guard(stream_);
    inputs.block(stream_);
    tokens.record_stream(stream_);
    Tensor hidden = embedding_.index_select(0, tokens.reshape({-1})).view({tokens.size(0), tokens.size(1), -1});
    Tensor logits = at::matmul(hidden.cumsum(1), projection_).log_softmax(-1);
    Tensor next = tokens.slice(1, 1).unsqueeze(-1);
    Tensor picked = logits.slice(1, 0, -1).gather(2, next).squeeze(-1);
    Tensor total = picked.sum(1).mul_(weight_);
    scored_.record(stream_);
    return total;
  }

 private:
  Tensor embedding_;
  Tensor projection_;
  float weight_;
  CUDAStream stream_;
  CUDAEvent scored_;
};

class Reranker {
 public:
  explicit Reranker(std::vector<std::unique_ptr<Scorer>> scorers) : scorers_(std::move(scorers)) {}

  // Enqueues the scoring of one set of hypotheses and returns the order of the set before (best first).
  std::vector<int64_t> submit(const Tensor& tokens) {
    Slot& slot = slots_[turn_ % slots_.size()];
    std::vector<int64_t> previous = turn_ ? order(slots_[(turn_ - 1) % slots_.size()]) : std::vector<int64_t>();
    combine(tokens, slot);
    ++turn_;
    return previous;
  }

  std::vector<int64_t> flush() {
    TORCH_CHECK(turn_ > 0, "nothing was submitted");
    return order(slots_[(turn_ - 1) % slots_.size()]);
  }

 private:
  struct Slot {
    Tensor host;  // page-locked
    CUDAEvent copied;
  };

  void combine(const Tensor& tokens, Slot& slot) {
    CUDAStream current = c10::cuda::getCurrentCUDAStream(tokens.device().index());
    inputs_.record(current);
    std::vector<Tensor> parts;
    parts.reserve(scorers_.size());
    for (auto& s : scorers_) parts.push_back(s->score(tokens, inputs_));

    Tensor sum = at::zeros({tokens.size(0)}, tokens.options().dtype(at::kFloat));
    for (size_t i = 0; i < parts.size(); ++i) {
      scorers_[i]->scored().block(current);
      parts[i].record_stream(current);
      sum.add_(parts[i]);
    }
    if (!slot.host.defined() || slot.host.size(0) != sum.size(0)) {
      slot.copied.synchronize();
      slot.host = at::empty({sum.size(0)}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    }
    slot.host.copy_(sum, /*non_blocking=*/true);
    slot.copied.record(current);
  }

  static std::vector<int64_t> order(const Slot& slot) {
    slot.copied.synchronize();
    Tensor idx = slot.host.argsort(0, /*descending=*/true);
    const int64_t* p = idx.data_ptr<int64_t>();
    return std::vector<int64_t>(p, p + idx.numel());
  }

  std::vector<std::unique_ptr<Scorer>> scorers_;
  std::array<Slot, 2> slots_;
  size_t turn_ = 0;
  CUDAEvent inputs_;
};

// Builds an ensemble from (embedding, projection) pairs with equal weights. The weights must be complete.
std::unique_ptr<Reranker> make_reranker(const std::vector<std::pair<Tensor, Tensor>>& models) {
  std::vector<std::unique_ptr<Scorer>> scorers;
  for (const auto& m : models) {
    scorers.push_back(std::make_unique<Scorer>(m.first, m.second, 1.0f / static_cast<float>(models.size())));
  }
  return std::make_unique<Reranker>(std::move(scorers));
}

}  // namespace rerank

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<rerank::Reranker>(m, "Reranker")
      .def("submit", &rerank::Reranker::submit)
      .def("flush", &rerank::Reranker::flush);
  m.def("make_reranker", &rerank::make_reranker);
}
