// Positional features of camera rays for a radiance field.  Directions are encoded on a side stream
// while the origins are encoded on the caller's stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <utility>

namespace {

// Frequency tables, one per stream: the table is filled in stream order and used in the same stream.
class FrequencyTables {
 public:
  static at::Tensor get(int64_t octaves, const at::TensorOptions& options) {
    static FrequencyTables tables;
    const auto stream = at::cuda::getCurrentCUDAStream(options.device().index());
    std::lock_guard<std::mutex> lock(tables.m_);
    at::Tensor& t = tables.byKey_[{stream.unwrap(), octaves}];
    if (!t.defined()) t = at::arange(octaves, options).exp2();
    return t;
  }

 private:
  struct Less {
    bool operator()(const std::pair<c10::Stream, int64_t>& a, const std::pair<c10::Stream, int64_t>& b) const {
      if (a.first.device_index() != b.first.device_index()) return a.first.device_index() < b.first.device_index();
      if (a.first.id() != b.first.id()) return a.first.id() < b.first.id();
      return a.second < b.second;
    }
  };
  std::mutex m_;
  std::map<std::pair<c10::Stream, int64_t>, at::Tensor, Less> byKey_;
};

__global__ void encode(const float* v, const float* frequency, float* out, int n, int octaves) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < octaves; ++k) {
    out[(2 * k) * n + i] = sinf(frequency[k] * v[i]);
    out[(2 * k + 1) * n + i] = cosf(frequency[k] * v[i]);
  }
}

at::Tensor encodeOnCurrent(const at::Tensor& v, int64_t octaves) {
  TORCH_CHECK(v.is_cuda() && v.scalar_type() == at::kFloat);
  const at::Tensor x = v.contiguous();
  const at::Tensor table = FrequencyTables::get(octaves, x.options());
  at::Tensor out = at::empty({2 * octaves, x.numel()}, x.options());
  const int n = static_cast<int>(x.numel());
  encode<<<(n + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), table.data_ptr<float>(),
                                                                        out.data_ptr<float>(), n, static_cast<int>(octaves));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

std::tuple<at::Tensor, at::Tensor> rayFeatures(const at::Tensor& origins, const at::Tensor& directions, int64_t octaves) {
  const c10::cuda::CUDAGuard onDevice(origins.device());
  const auto current = at::cuda::getCurrentCUDAStream();
  const auto side = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  fork.record(current);
  fork.block(side);

  at::Tensor d;
  {
    c10::cuda::CUDAStreamGuard onSide(side);
    d = encodeOnCurrent(directions, octaves);
    join.record(side);
  }
  at::Tensor o = encodeOnCurrent(origins, octaves);
  join.block(current);
  d.record_stream(current);
  return {o, d};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("ray_features", &rayFeatures, py::arg("origins"), py::arg("directions"), py::arg("octaves") = 8);
}
