// Flat parameter buckets for distributed data parallel; built once after model init.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <vector>

namespace megatron {

struct Parameter {
  at::Tensor data;
  bool requires_grad = true;
};

struct DDPConfig {
  int64_t bucket_elems = 1 << 24;
  c10::ScalarType param_dtype = at::kFloat;
};

class Module {
 public:
  explicit Module(std::vector<std::vector<int64_t>> shapes, c10::Device device) {
    for (auto& s : shapes) {
      params_.push_back({at::empty(s, at::TensorOptions().dtype(at::kFloat).device(device))});
    }
  }
  void reset_parameters() {
    for (auto& p : params_) {
      const double fan_in = static_cast<double>(p.data.size(-1));
      p.data.normal_(0.0, 1.0 / std::sqrt(fan_in));
    }
  }
  std::vector<Parameter>& parameters() { return params_; }

 private:
  std::vector<Parameter> params_;
};

class ParamAndGradBuffer {
 public:
  ParamAndGradBuffer(Module& module, const DDPConfig& config, c10::cuda::CUDAStream side_stream)
      : config_(config), side_stream_(side_stream) {
    int64_t total = 0;
    for (auto& p : module.parameters()) total += p.data.numel();
    TORCH_CHECK(total > 0, "module has no parameters");
    auto opts = module.parameters().front().data.options().dtype(config_.param_dtype);
    param_data_ = at::empty({total}, opts);
    grad_data_ = at::zeros({total}, opts);
    param_data_.record_stream(side_stream_);
  }

  // Moves every parameter into the flat buffer and re-points it to its view.
  void remap(std::vector<Parameter>& params) {
    int64_t offset = 0;
    c10::cuda::CUDAStreamGuard guard(side_stream_);
    for (auto& p : params) {
      at::Tensor view = param_data_.narrow(0, offset, p.data.numel()).view(p.data.sizes());
      view.copy_(p.data);
      p.data.record_stream(side_stream_);
      offset += p.data.numel();
      p.data = view;
    }
  }

  at::Tensor& grads() { return grad_data_; }
  at::Tensor& params() { return param_data_; }

 private:
  DDPConfig config_;
  c10::cuda::CUDAStream side_stream_;
  at::Tensor param_data_;
  at::Tensor grad_data_;
};

class DistributedDataParallel {
 public:
  DistributedDataParallel(Module& module, const DDPConfig& config)
      : init_stream_(c10::cuda::getStreamFromPool()),
        buffer_(module, config, init_stream_) {
    auto current = c10::cuda::getCurrentCUDAStream();
    buffer_.remap(module.parameters());
    at::cuda::CUDAEvent remapped;
    remapped.record(init_stream_);
    remapped.block(current);
  }

  double param_norm() { return buffer_.params().norm().item<double>(); }

 private:
  c10::cuda::CUDAStream init_stream_;
  ParamAndGradBuffer buffer_;
};

} // namespace megatron

double setup_model(c10::Device device) {
  c10::cuda::CUDAGuard device_guard(device);
  megatron::Module module({{1024, 1024}, {4096, 1024}, {1024, 4096}}, device);
  module.reset_parameters();
  megatron::DistributedDataParallel ddp(module, megatron::DDPConfig{});
  return ddp.param_norm();
}
