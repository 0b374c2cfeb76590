// Batched nearest-depot routing. The host picks the candidate rows of each round, a kernel
// gathers and scores them. Index buffers are allocated once: page-locked on the host, plain
// on the device.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace routing {

__global__ void score_candidates(const float* __restrict__ depots, const std::int64_t* __restrict__ rows,
                                 const float* __restrict__ query, float* __restrict__ score, int n,
                                 int dim) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* d = depots + rows[i] * dim;
  float dist = 0.f;
  for (int k = 0; k < dim; ++k) {
    const float delta = d[k] - query[k];
    dist += delta * delta;
  }
  score[i] = sqrtf(dist);
}

// Fixed-size list of row numbers that is refilled on the host and mirrored on the device.
class RowList {
 public:
  RowList(std::int64_t capacity, c10::Device device)
      : host_(at::empty({capacity}, at::TensorOptions().dtype(at::kLong).pinned_memory(true))),
        device_(at::empty({capacity}, at::TensorOptions().dtype(at::kLong).device(device))) {}

  std::int64_t capacity() const { return host_.numel(); }
  std::int64_t* begin() {
    sent_.synchronize();
    return host_.data_ptr<std::int64_t>();
  }

  // Sends the first `n` rows to the device, in order on the current stream.
  at::Tensor upload(std::int64_t n) {
    at::Tensor target = device_.narrow(0, 0, n);
    target.copy_(host_.narrow(0, 0, n), /*non_blocking=*/true);
    sent_.record(at::cuda::getCurrentCUDAStream());
    return target;
  }

 private:
  at::Tensor host_;
  at::Tensor device_;
  at::cuda::CUDAEvent sent_;
};

// A router and its depots are used on one stream, the current one.
class Router {
 public:
  Router(at::Tensor depots, std::int64_t candidates, std::uint64_t seed)
      : depots_(depots.contiguous()), rows_(candidates, depots.device()), rng_(seed) {
    TORCH_CHECK(depots_.is_cuda() && depots_.scalar_type() == at::kFloat && depots_.dim() == 2,
                "depots must be a float matrix on the GPU");
  }

  // Best score of every query, found by `rounds` random restarts.
  at::Tensor route(const at::Tensor& queries, int rounds) {
    TORCH_CHECK(queries.device() == depots_.device() && queries.size(1) == depots_.size(1));
    c10::cuda::CUDAGuard guard(depots_.device());
    const at::Tensor q = queries.contiguous();
    at::Tensor best = at::full({q.size(0)}, 1e30, depots_.options());
    for (int r = 0; r < rounds; ++r) {
      for (std::int64_t i = 0; i < q.size(0); ++i) {
        const at::Tensor rows = draw();
        const at::Tensor score = evaluate(rows, q.select(0, i));
        best.select(0, i).copy_(at::minimum(best.select(0, i), score.min()));
      }
    }
    return best;
  }

 private:
  at::Tensor draw() {
    std::uniform_int_distribution<std::int64_t> pick(0, depots_.size(0) - 1);
    std::generate_n(rows_.begin(), rows_.capacity(), [&] { return pick(rng_); });
    return rows_.upload(rows_.capacity());
  }

  at::Tensor evaluate(const at::Tensor& rows, const at::Tensor& query) const {
    const int n = static_cast<int>(rows.numel());
    const int dim = static_cast<int>(depots_.size(1));
    at::Tensor score = at::empty({n}, depots_.options());
    score_candidates<<<(n + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        depots_.data_ptr<float>(), rows.data_ptr<std::int64_t>(), query.data_ptr<float>(),
        score.data_ptr<float>(), n, dim);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return score;
  }

  at::Tensor depots_;
  RowList rows_;
  std::mt19937_64 rng_;
};

}  // namespace routing

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<routing::Router>(m, "Router")
      .def(py::init<at::Tensor, std::int64_t, std::uint64_t>(), py::arg("depots"),
           py::arg("candidates"), py::arg("seed") = 1)
      .def("route", &routing::Router::route, py::arg("queries"), py::arg("rounds"));
}
