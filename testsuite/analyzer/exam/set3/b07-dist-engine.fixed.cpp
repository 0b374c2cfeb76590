#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torch::distributed::autograd {

using variable_list = std::vector<at::Tensor>;

// What arrives from a peer: the gradients, and the streams on which they become ready.
struct PropagateGradientsReq {
  int64_t autogradContextId = 0;
  variable_list grads;
  std::vector<c10::cuda::CUDAStream> streams;
};

class TensorPipeReceiver {
 public:
  explicit TensorPipeReceiver(c10::DeviceIndex device) : device_(device) {}

  PropagateGradientsReq receive(int64_t contextId, const variable_list& payload) const {
    PropagateGradientsReq req;
    req.autogradContextId = contextId;
    for (const auto& host : payload) {
      TORCH_INTERNAL_ASSERT(host.is_pinned());
      auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_);
      c10::cuda::CUDAStreamGuard guard(stream);
      auto grad = host.to(at::Device(at::kCUDA, device_), at::kFloat, /*non_blocking=*/true);
      req.grads.push_back(grad.mul(lossScale_));
      req.streams.push_back(stream);
    }
    return req;
  }

 private:
  c10::DeviceIndex device_;
  double lossScale_ = 1.0 / 1024;
};

class SendRpcBackward {
 public:
  void setGrads(variable_list grads) { grads_ = std::move(grads); }
  variable_list apply() {
    TORCH_INTERNAL_ASSERT(!grads_.empty());
    return std::exchange(grads_, {});
  }

 private:
  variable_list grads_;
};

class DistAutogradContext {
 public:
  void accumulateGrad(size_t slot, const at::Tensor& grad) {
    auto it = accumulated_.find(slot);
    if (it == accumulated_.end()) {
      accumulated_.emplace(slot, grad.clone());
    } else {
      it->second.add_(grad);
    }
  }
  const std::unordered_map<size_t, at::Tensor>& gradients() const { return accumulated_; }

 private:
  std::unordered_map<size_t, at::Tensor> accumulated_;
};

class DistEngine {
 public:
  explicit DistEngine(c10::DeviceIndex device) : device_(device) {}

  void executeSendFunction(DistAutogradContext& context, const PropagateGradientsReq& req) {
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    for (const auto& stream : req.streams) {
      at::cuda::CUDAEvent event;
      event.record(stream);
      event.block(current);
    }
    for (const auto& grad : req.grads) {
      grad.record_stream(current.unwrap());
    }
    SendRpcBackward function;
    function.setGrads(req.grads);
    auto outputs = function.apply();
    for (size_t slot = 0; slot < outputs.size(); ++slot) {
      context.accumulateGrad(slot, outputs[slot]);
    }
  }

 private:
  c10::DeviceIndex device_;
};

} // namespace torch::distributed::autograd

int main() {
  using namespace torch::distributed::autograd;
  TensorPipeReceiver receiver(0);
  DistEngine engine(0);
  DistAutogradContext context;
  for (int64_t peer = 0; peer < 4; ++peer) {
    variable_list payload;
    for (int p = 0; p < 3; ++p) {
      payload.push_back(at::ones({1 << 20}).pin_memory());
    }
    engine.executeSendFunction(context, receiver.receive(peer, payload));
  }
  double total = 0;
  for (const auto& kv : context.gradients()) {
    total += kv.second.sum().item<double>();
  }
  return total > 0 ? 0 : 1;
}
