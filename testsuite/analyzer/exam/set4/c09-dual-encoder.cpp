// Text and image towers of a retrieval model, evaluated on two streams.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <utility>
#include <vector>

namespace retrieval {

class Tower {
 public:
  explicit Tower(std::vector<at::Tensor> weights) : weights_(std::move(weights)) {}
  at::Tensor operator()(at::Tensor x) const {
    for (const at::Tensor& w : weights_) x = at::gelu(at::matmul(x, w));
    return x;
  }

 private:
  std::vector<at::Tensor> weights_;
};

// Runs work on a side stream; enter() and leave() tie it to the caller's stream on both ends.
class SideLane {
 public:
  explicit SideLane(c10::DeviceIndex device) : stream_(c10::cuda::getStreamFromPool(false, device)) {}

  void enter() {
    begin_.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    begin_.block(stream_);
  }
  void leave() {
    end_.record(stream_);
    end_.block(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
  }
  c10::cuda::CUDAStream stream() const { return stream_; }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent begin_, end_;
};

class DualEncoder {
 public:
  DualEncoder(Tower text, Tower image, c10::DeviceIndex device)
      : text_(std::move(text)), image_(std::move(image)), lane_(device) {}

  at::Tensor scores(const at::Tensor& tokens, const at::Tensor& pixels) {
    at::Tensor t = at::empty({tokens.size(0), width_}, tokens.options());
    lane_.enter();
    encode_text(tokens, t);
    at::Tensor i = normalise(image_(pixels)).narrow(1, 0, width_);
    lane_.leave();
    return at::matmul(i, t.t());
  }

 private:
  static at::Tensor normalise(const at::Tensor& x) {
    return x.div(x.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-6));
  }

  void encode_text(const at::Tensor& tokens, at::Tensor& into) {
    c10::cuda::CUDAStreamGuard guard(lane_.stream());
    at::Tensor h = text_(tokens);
    into.copy_(normalise(h).narrow(1, 0, width_), /*non_blocking=*/true);
  }

  Tower text_, image_;
  SideLane lane_;
  int64_t width_ = 256;
};

at::Tensor score_batches(at::TensorList tokens, at::TensorList pixels, at::TensorList text_weights,
                         at::TensorList image_weights) {
  TORCH_CHECK(tokens.size() == pixels.size() && !tokens.empty());
  c10::InferenceMode mode;
  const c10::cuda::CUDAGuard device_guard(tokens[0].device());
  DualEncoder model(Tower(text_weights.vec()), Tower(image_weights.vec()), tokens[0].get_device());
  std::vector<at::Tensor> all;
  for (size_t b = 0; b < tokens.size(); ++b) {
    at::Tensor x = tokens[b].to(at::kFloat);
    at::Tensor p = pixels[b].to(at::kFloat).flatten(1);
    all.push_back(model.scores(x, p));
  }
  return at::cat(all, 0);
}

}  // namespace retrieval

TORCH_LIBRARY_FRAGMENT(retrieval, m) {
  m.def("score_batches(Tensor[] tokens, Tensor[] pixels, Tensor[] text_weights, Tensor[] image_weights) -> Tensor");
}
TORCH_LIBRARY_IMPL(retrieval, CUDA, m) { m.impl("score_batches", &retrieval::score_batches); }
