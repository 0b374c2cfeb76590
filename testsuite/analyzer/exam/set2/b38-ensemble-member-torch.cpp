#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace tabular {

struct Member {
  at::Tensor w1, b1, w2, b2;
  at::Tensor feature_order;
  double temperature = 1.0;
};

class Ensemble {
 public:
  explicit Ensemble(std::vector<Member> members) : members_(std::move(members)) {
    streams_.reserve(members_.size());
    for (size_t i = 0; i < members_.size(); ++i) {
      streams_.push_back(c10::cuda::getStreamFromPool());
    }
  }

  at::Tensor predict(const at::Tensor& x) {
    at::NoGradGuard no_grad;
    const auto caller = c10::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent input_ready;
    input_ready.record(caller);

    std::vector<at::Tensor> logits;
    for (size_t i = 0; i < members_.size(); ++i) {
      input_ready.block(streams_[i]);
      logits.push_back(predict_member(i, x));
    }
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i].record_stream(caller);
    }
    return at::softmax(at::stack(logits), -1).mean(0);
  }

 private:
  at::Tensor predict_member(size_t i, const at::Tensor& x) {
    const c10::cuda::CUDAStreamGuard guard(streams_[i]);
    const Member& m = members_[i];
    at::Tensor h = x.index_select(1, m.feature_order);
    h = at::gelu(at::linear(h, m.w1, m.b1));
    h = at::linear(h, m.w2, m.b2);
    return h.div_(m.temperature);
  }

  std::vector<Member> members_;
  std::vector<c10::cuda::CUDAStream> streams_;
};

std::pair<at::Tensor, at::Tensor> classify(Ensemble& ensemble, const at::Tensor& rows) {
  const at::Tensor mean = rows.mean(0, /*keepdim=*/true);
  const at::Tensor scale = rows.std(0, /*unbiased=*/false, /*keepdim=*/true).clamp_min(1e-6);
  const at::Tensor probs = ensemble.predict((rows - mean) / scale);
  return {probs, probs.argmax(-1)};
}

} // namespace tabular
