// Manual backward for a two-branch head. The seed gradient is built on one
// stream and handed to the stream that runs the weight gradients.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <tuple>
#include <utility>

namespace head {

class GraphRoot {
 public:
  GraphRoot(at::Tensor logits, at::Tensor targets) : logits_(std::move(logits)), targets_(std::move(targets)) {}

  void build(c10::cuda::CUDAStream producer, double loss_scale) {
    at::cuda::CUDAEvent inputs;
    inputs.record(c10::cuda::getDefaultCUDAStream(producer.device_index()));
    inputs.block(producer);
    c10::cuda::CUDAStreamGuard guard(producer);
    grad_ = at::softmax(logits_, 1).sub_(targets_).mul_(loss_scale);
    ready_.record(producer);
  }

  at::Tensor gradient(c10::cuda::CUDAStream consumer) {
    ready_.block(consumer);
    grad_.record_stream(consumer);
    return grad_;
  }

 private:
  at::Tensor logits_, targets_, grad_;
  at::cuda::CUDAEvent ready_;
};

struct Streams {
  explicit Streams(c10::DeviceIndex d)
      : loss(c10::cuda::getStreamFromPool(false, d)), engine(c10::cuda::getStreamFromPool(true, d)) {}
  c10::cuda::CUDAStream loss, engine;
};

class HeadBackward {
 public:
  HeadBackward(at::Tensor x, at::Tensor w) : x_(std::move(x)), w_(std::move(w)), streams_(x_.get_device()) {}

  std::pair<at::Tensor, at::Tensor> run(const at::Tensor& logits, const at::Tensor& targets, double loss_scale) {
    GraphRoot root(logits, targets);
    root.build(streams_.loss, loss_scale);
    auto grads = apply(root);
    hand_over(grads.first);
    hand_over(grads.second);
    return grads;
  }

 private:
  std::pair<at::Tensor, at::Tensor> apply(GraphRoot& root) {
    c10::cuda::CUDAStreamGuard guard(streams_.engine);
    at::Tensor g = root.gradient(streams_.engine);
    at::Tensor gw = at::mm(x_.t(), g);
    at::Tensor gx = at::mm(g, w_.t());
    done_.record(streams_.engine);
    return {gx, gw};
  }

  void hand_over(const at::Tensor& t) {
    auto user = c10::cuda::getDefaultCUDAStream(x_.get_device());
    done_.block(user);
    t.record_stream(user);
  }

  at::Tensor x_, w_;
  Streams streams_;
  at::cuda::CUDAEvent done_;
};

std::tuple<at::Tensor, at::Tensor> head_backward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& targets,
                                                 double loss_scale) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 2 && w.dim() == 2);
  const c10::cuda::CUDAGuard device_guard(x.device());
  c10::cuda::CUDAStreamGuard stream_guard(c10::cuda::getDefaultCUDAStream(x.get_device()));
  at::Tensor logits = at::mm(x, w);
  HeadBackward bwd(x, w);
  auto grads = bwd.run(logits, targets, loss_scale);
  return {grads.first, grads.second};
}

}  // namespace head

TORCH_LIBRARY_FRAGMENT(head, m) {
  m.def("backward(Tensor x, Tensor w, Tensor targets, float loss_scale) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(head, CUDA, m) { m.impl("backward", &head::head_backward); }
