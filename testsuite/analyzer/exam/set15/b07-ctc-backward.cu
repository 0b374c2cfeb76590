#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <utility>
#include <vector>

// A small hand-written backward pass for the CTC head of a speech recogniser: every node
// runs on the stream its forward ran on.
namespace ctc {

using c10::cuda::CUDAStream;

struct Gradient {
  at::Tensor value;
  CUDAStream producer;
};

class GraphRoot {
 public:
  GraphRoot(const at::Tensor& loss, double scale)
      : grad_{make_grad(loss, scale), c10::cuda::getDefaultCUDAStream(loss.get_device())} {}

  const Gradient& gradient() const { return grad_; }

 private:
  static at::Tensor make_grad(const at::Tensor& loss, double scale) {
    at::Tensor g = at::empty_like(loss);
    g.fill_(scale);
    return g;
  }

  Gradient grad_;
};

class Node {
 public:
  using Apply = std::function<at::Tensor(const at::Tensor&)>;

  Node(c10::DeviceIndex device, Apply apply)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        apply_(std::move(apply)) {}

  const CUDAStream& stream() const { return stream_; }

  Gradient run(const at::Tensor& incoming) const {
    c10::cuda::CUDAStreamGuard guard(stream_);
    return Gradient{apply_(incoming), stream_};
  }

 private:
  CUDAStream stream_;
  Apply apply_;
};

class BackwardEngine {
 public:
  explicit BackwardEngine(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::vector<at::Tensor> evaluate(const GraphRoot& root) {
    const Gradient& seed = root.gradient();
    std::vector<Gradient> grads;
    grads.reserve(nodes_.size());
    for (const Node& node : nodes_) {
      hand_over(seed, node.stream());
      grads.push_back(node.run(seed.value));
    }

    const auto caller = at::cuda::getCurrentCUDAStream(seed.value.get_device());
    std::vector<at::Tensor> out;
    out.reserve(grads.size());
    for (const Gradient& g : grads) {
      hand_over(g, caller);
      out.push_back(g.value);
    }
    return out;
  }

 private:
  static void hand_over(const Gradient& g, const CUDAStream& consumer) {
    if (g.producer == consumer) return;
    at::cuda::CUDAEvent ready;
    ready.record(g.producer);
    ready.block(consumer);
    g.value.record_stream(consumer.unwrap());
  }

  std::vector<Node> nodes_;
};

class CtcTrainer {
 public:
  explicit CtcTrainer(c10::DeviceIndex device)
      : device_(device), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Gradients of the blank and the label logits, ready on the caller's current stream.
  std::vector<at::Tensor> backward(const at::Tensor& loss, const at::Tensor& blank_mask,
                                   const at::Tensor& label_prob, double loss_scale) {
    const auto caller = at::cuda::getCurrentCUDAStream(device_);
    at::cuda::CUDAEvent inputs;
    inputs.record(caller);

    std::vector<Node> nodes;
    nodes.emplace_back(device_, [blank_mask](const at::Tensor& g) { return g.unsqueeze(-1) * blank_mask; });
    nodes.emplace_back(device_, [label_prob](const at::Tensor& g) { return g.unsqueeze(-1) - label_prob; });
    for (const Node& n : nodes) {
      inputs.block(n.stream());
      blank_mask.record_stream(n.stream().unwrap());
      label_prob.record_stream(n.stream().unwrap());
    }

    std::vector<at::Tensor> grads;
    at::cuda::CUDAEvent done;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      inputs.block(stream_);
      loss.record_stream(stream_.unwrap());
      const GraphRoot root(loss, loss_scale);
      BackwardEngine engine(std::move(nodes));
      grads = engine.evaluate(root);
      done.record(stream_);
    }
    done.block(caller);
    for (const at::Tensor& g : grads) g.record_stream(caller.unwrap());
    return grads;
  }

 private:
  c10::DeviceIndex device_;
  CUDAStream stream_;
};

}  // namespace ctc

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<ctc::CtcTrainer>(m, "CtcTrainer")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("backward", &ctc::CtcTrainer::backward);
}
