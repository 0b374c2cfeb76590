// Flat parameter storage for the acoustic model: the parameters are packed
// into one buffer so that the optimizer can work on a single tensor.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace speech {

class ParameterBank {
 public:
  ParameterBank(int64_t total, c10::DeviceIndex device)
      : device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        total_(total) {}

  ~ParameterBank() { side_.synchronize(); }
  ParameterBank(const ParameterBank&) = delete;
  ParameterBank& operator=(const ParameterBank&) = delete;

  /// Packs `params` into the flat buffer and makes each one a view of it.
  void adopt(std::vector<at::Tensor>& params) {
    const c10::cuda::CUDAGuard device_guard(device_);
    allocate();
    fork();
    int64_t offset = 0;
    std::vector<at::Tensor> views;
    views.reserve(params.size());
    for (const auto& p : params) {
      views.push_back(pack_one(p, offset));
      offset += p.numel();
    }
    join();
    for (std::size_t i = 0; i < params.size(); ++i) {
      params[i].record_stream(side_.unwrap());
      params[i] = std::move(views[i]);
    }
  }

  const at::Tensor& flat() const { return flat_; }

 private:
  void allocate() {
    const c10::cuda::CUDAStreamGuard guard(side_);
    flat_ = at::empty({total_}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device_));
  }

  void fork() {
    initialised_.record(c10::cuda::getCurrentCUDAStream(device_));
    initialised_.block(side_);
  }

  at::Tensor pack_one(const at::Tensor& param, int64_t offset) {
    const c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor view = flat_.narrow(0, offset, param.numel()).view(param.sizes());
    view.copy_(param, /*non_blocking=*/true);
    return view;
  }

  void join() {
    packed_.record(side_);
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    packed_.block(current);
    flat_.record_stream(current.unwrap());
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  int64_t total_;
  at::Tensor flat_;
  at::cuda::CUDAEvent initialised_;
  at::cuda::CUDAEvent packed_;
};

struct EncoderShape {
  int64_t features = 80;
  int64_t hidden = 512;
  int64_t layers = 6;
};

/// Xavier initialisation, on the device.
std::vector<at::Tensor> init_encoder(const EncoderShape& shape, c10::DeviceIndex device) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device);
  std::vector<at::Tensor> params;
  int64_t in = shape.features;
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    at::Tensor weight = at::empty({shape.hidden, in}, options);
    weight.normal_(0.0, 1.0 / static_cast<double>(in));
    params.push_back(weight);
    params.push_back(at::zeros({shape.hidden}, options));
    in = shape.hidden;
  }
  return params;
}

at::Tensor build_encoder(int64_t features, int64_t hidden, int64_t layers) {
  const auto device = c10::cuda::current_device();
  auto params = init_encoder({features, hidden, layers}, device);
  int64_t total = 0;
  for (const auto& p : params) total += p.numel();

  ParameterBank bank(total, device);
  bank.adopt(params);
  return bank.flat();
}

}  // namespace speech

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("build_encoder", &speech::build_encoder); }
