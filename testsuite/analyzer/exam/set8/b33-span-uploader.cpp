// Ragged batching for the tokenizer-free language model: turns lists of span lengths into offsets on the device.
// The offsets are tiny and needed in every step, so one page-locked tensor is kept for all of them.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ragged {

using at::Tensor;

class SpanUploader {
 public:
  SpanUploader(int64_t max_spans, c10::Device device)
      : staging_(at::empty({max_spans + 1}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))),
        offsets_(at::empty({max_spans + 1}, at::TensorOptions().dtype(at::kInt).device(device))) {}

  // Offsets of the given spans on the device, valid for work enqueued on the current stream until the next call.
  Tensor upload(const std::vector<int64_t>& lengths) {
    const int64_t count = static_cast<int64_t>(lengths.size());
    TORCH_CHECK(count + 1 <= staging_.size(0), "too many spans");
    write_offsets(lengths);
    return push(count + 1);
  }

  int64_t total() const { return total_; }

 private:
  void write_offsets(const std::vector<int64_t>& lengths) {
    int32_t* out = staging_.data_ptr<int32_t>();
    int32_t sum = 0;
    out[0] = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      sum += static_cast<int32_t>(lengths[i]);
      out[i + 1] = sum;
    }
    total_ = sum;
  }

  Tensor push(int64_t entries) {
    Tensor dst = offsets_.narrow(0, 0, entries);
    dst.copy_(staging_.narrow(0, 0, entries), /*non_blocking=*/true);
    return dst;
  }

  Tensor staging_;
  Tensor offsets_;
  int64_t total_ = 0;
};

// Mean of every span of `x` ([total, dim]).
static Tensor span_mean(const Tensor& x, const Tensor& offsets) {
  Tensor zero = at::zeros({1, x.size(1)}, x.options());
  Tensor prefix = at::cat({zero, x.cumsum(0)}, 0);
  Tensor off = offsets.to(at::kLong);
  Tensor begin = off.slice(0, 0, -1);
  Tensor end = off.slice(0, 1);
  Tensor len = (end - begin).clamp_min(1).to(x.scalar_type()).unsqueeze(1);
  return (prefix.index_select(0, end) - prefix.index_select(0, begin)).div(len);
}

class SpanPooler {
 public:
  SpanPooler(int64_t max_spans, int64_t device_index)
      : device_(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index)), uploader_(max_spans, device_) {}

  Tensor pool(const Tensor& x, const std::vector<int64_t>& lengths) {
    c10::cuda::CUDAGuard guard(device_);
    Tensor offsets = uploader_.upload(lengths);
    TORCH_CHECK(uploader_.total() == x.size(0), "span lengths do not add up to ", x.size(0));
    return span_mean(x, offsets);
  }

  // Pools one activation tensor per level; the levels of a pyramid differ in their spans.
  std::vector<Tensor> pool_pyramid(const std::vector<Tensor>& levels,
                                   const std::vector<std::vector<int64_t>>& lengths) {
    TORCH_CHECK(levels.size() == lengths.size(), "one list of lengths per level");
    std::vector<Tensor> out;
    out.reserve(levels.size());
    for (size_t i = 0; i < levels.size(); ++i) out.push_back(pool(levels[i], lengths[i]));
    return out;
  }

 private:
  c10::Device device_;
  SpanUploader uploader_;
};

static std::unique_ptr<SpanPooler> make_pooler(int64_t max_spans, int64_t device_index) {
  return std::make_unique<SpanPooler>(max_spans, device_index);
}

}  // namespace ragged

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<ragged::SpanPooler>(m, "SpanPooler")
      .def(pybind11::init(&ragged::make_pooler))
      .def("pool", &ragged::SpanPooler::pool)
      .def("pool_pyramid", &ragged::SpanPooler::pool_pyramid);
}
