// Lidar detection: pillar encoder and detection head run on streams of their own and hand tensors over.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace lidar {

// A tensor together with the event after which it may be read.
struct Handoff {
  at::Tensor value;
  std::shared_ptr<at::cuda::CUDAEvent> ready = std::make_shared<at::cuda::CUDAEvent>();
};

class PillarEncoder {
 public:
  PillarEncoder(at::Tensor weight, at::Tensor bias)
      : weight_(std::move(weight)),
        bias_(std::move(bias)),
        stream_(c10::cuda::getStreamFromPool(false, weight_.device().index())) {
    wait_for_caller();
  }

  Handoff encode(const at::Tensor& points) {
    wait_for_caller();
    points.record_stream(stream_.unwrap());
    Handoff out;
    c10::cuda::CUDAStreamGuard guard(stream_);
    out.value = features(points);
    publish(out);
    return out;
  }

 private:
  void wait_for_caller() {
    entered_.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    entered_.block(stream_);
  }

  at::Tensor features(const at::Tensor& points) const {
    at::Tensor centred = points - points.mean(0, /*keepdim=*/true);
    return at::relu(at::addmm(bias_, centred, weight_));
  }

  void publish(Handoff& h) const {
    h.ready->record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
  }

  at::Tensor weight_, bias_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent entered_;
};

class DetectionHead {
 public:
  explicit DetectionHead(at::Tensor anchors) : anchors_(std::move(anchors)) {}

  // Runs on the caller's current stream.
  at::Tensor score(const Handoff& in) const {
    const auto stream = c10::cuda::getCurrentCUDAStream(in.value.device().index());
    in.ready->block(stream);
    in.value.record_stream(stream.unwrap());
    return at::softmax(at::matmul(in.value, anchors_), /*dim=*/-1);
  }

 private:
  at::Tensor anchors_;
};

class Detector {
 public:
  Detector(at::Tensor weight, at::Tensor bias, at::Tensor anchors)
      : encoder_(std::move(weight), std::move(bias)), head_(std::move(anchors)) {}

  // Encodes sweep i + 1 while sweep i is scored.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& sweeps) {
    std::vector<at::Tensor> scores;
    if (sweeps.empty()) return scores;
    Handoff current = encoder_.encode(sweeps[0]);
    for (size_t i = 0; i < sweeps.size(); ++i) {
      Handoff next;
      if (i + 1 < sweeps.size()) next = encoder_.encode(sweeps[i + 1]);
      scores.push_back(head_.score(current));
      current = next;
    }
    return scores;
  }

 private:
  PillarEncoder encoder_;
  DetectionHead head_;
};

std::vector<at::Tensor> detect(const std::vector<at::Tensor>& sweeps, const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& anchors) {
  c10::NoGradGuard no_grad;
  Detector detector(weight, bias, anchors);
  return detector.run(sweeps);
}

}  // namespace lidar
