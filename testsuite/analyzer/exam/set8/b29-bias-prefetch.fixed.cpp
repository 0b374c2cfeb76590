// Relative-position bias for the windowed attention of the speech encoder. The bias of the next layer is expanded in a
// side stream while the current layer runs; it depends on the layer's table only, never on activations.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace speech {

using at::Tensor;

struct Layer {
  Tensor qkv_weight;   // [3 * dim, dim]
  Tensor out_weight;   // [dim, dim]
  Tensor bias_table;   // [heads, 2 * window - 1]
};

// Expands bias tables ahead of time.
class BiasPrefetcher {
 public:
  BiasPrefetcher(int64_t window, c10::Device device)
      : window_(window), side_(c10::cuda::getStreamFromPool(false, device.index())) {
    auto pos = at::arange(window, at::TensorOptions().dtype(at::kLong).device(device));
    index_ = (pos.unsqueeze(1) - pos.unsqueeze(0) + (window - 1)).reshape({-1});
    at::cuda::CUDAEvent built;
    built.record(c10::cuda::getCurrentCUDAStream(device.index()));
    built.block(side_);
  }

  ~BiasPrefetcher() { side_.synchronize(); }

  void start(const Layer& layer) {
    c10::cuda::CUDAStreamGuard guard(side_);
    Tensor rows = layer.bias_table.index_select(1, index_);
    next_ = rows.view({-1, window_, window_}).mul(1.0 / std::sqrt(static_cast<double>(window_)));
    ready_.record(side_);
  }

  // The bias asked for by the last start(), for use on the current stream.
  Tensor take() {
    auto current = c10::cuda::getCurrentCUDAStream(side_.device_index());
    ready_.block(current);
    next_.record_stream(current);
    return std::move(next_);
  }

 private:
  int64_t window_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_;
  Tensor index_;
  Tensor next_;
};

class WindowedEncoder {
 public:
  WindowedEncoder(std::vector<Layer> layers, int64_t heads, int64_t window)
      : layers_(std::move(layers)), heads_(heads), prefetch_(window, layers_.at(0).qkv_weight.device()) {
    // The tables were filled on the current stream.
    c10::cuda::getCurrentCUDAStream().synchronize();
  }

  // x: [batch, window, dim]
  Tensor forward(Tensor x) {
    prefetch_.start(layers_.front());
    for (size_t i = 0; i < layers_.size(); ++i) {
      Tensor bias = prefetch_.take();
      if (i + 1 < layers_.size()) prefetch_.start(layers_[i + 1]);
      x = x + attend(layers_[i], x, bias);
    }
    return x;
  }

 private:
  Tensor attend(const Layer& layer, const Tensor& x, const Tensor& bias) const {
    const int64_t b = x.size(0), n = x.size(1), d = x.size(2);
    Tensor qkv = at::linear(x, layer.qkv_weight).view({b, n, 3, heads_, d / heads_}).permute({2, 0, 3, 1, 4});
    Tensor q = qkv[0], k = qkv[1], v = qkv[2];
    Tensor scores = at::matmul(q, k.transpose(-2, -1));
    scores.add_(bias);
    Tensor mixed = at::matmul(scores.softmax(-1), v).transpose(1, 2).reshape({b, n, d});
    return at::linear(mixed, layer.out_weight);
  }

  std::vector<Layer> layers_;
  int64_t heads_;
  BiasPrefetcher prefetch_;
};

static std::unique_ptr<WindowedEncoder> make_encoder(const std::vector<std::vector<Tensor>>& weights, int64_t heads,
                                                     int64_t window) {
  std::vector<Layer> layers;
  for (const auto& w : weights) layers.push_back({w.at(0), w.at(1), w.at(2)});
  return std::make_unique<WindowedEncoder>(std::move(layers), heads, window);
}

}  // namespace speech

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<speech::WindowedEncoder>(m, "WindowedEncoder")
      .def(pybind11::init(&speech::make_encoder))
      .def("forward", &speech::WindowedEncoder::forward, pybind11::call_guard<pybind11::gil_scoped_release>());
}
