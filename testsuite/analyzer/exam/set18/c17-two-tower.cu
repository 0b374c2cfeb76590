// Two-tower scorer: the item tower runs on a side stream next to the user tower. The side
// stream is joined before any tensor that it touches can go back to the allocator.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace towers {

__global__ void l2Rows(float* rows, int dim) {
  __shared__ float part[128];
  float* r = rows + int64_t(blockIdx.x) * dim;
  float acc = 0.f;
  for (int c = threadIdx.x; c < dim; c += 128) acc += r[c] * r[c];
  part[threadIdx.x] = acc;
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  const float inv = rsqrtf(part[0] + 1e-12f);
  for (int c = threadIdx.x; c < dim; c += 128) r[c] *= inv;
}

void normalise(at::Tensor& rows) {
  if (rows.size(0) == 0) return;
  l2Rows<<<int(rows.size(0)), 128, 0, at::cuda::getCurrentCUDAStream()>>>(rows.mutable_data_ptr<float>(),
                                                                         int(rows.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// Runs what happens in its scope on `side`. Fork in the constructor, join in the destructor.
class SideScope {
 public:
  explicit SideScope(c10::cuda::CUDAStream side) : home_(c10::cuda::getCurrentCUDAStream()), side_(side), guard_(side) {
    at::cuda::CUDAEvent fork;
    fork.record(home_);
    fork.block(side_);
  }
  SideScope(const SideScope&) = delete;
  SideScope& operator=(const SideScope&) = delete;

  // Lets the enclosing code run on the home stream again while the scope is open.
  void pause() { guard_.reset_stream(home_); }

  ~SideScope() {
    at::cuda::CUDAEvent join;
    join.record(side_);
    join.block(home_);
  }

 private:
  c10::cuda::CUDAStream home_, side_;
  c10::cuda::CUDAStreamGuard guard_;
};

class Scorer {
 public:
  Scorer(at::Tensor userWeight, at::Tensor itemWeight)
      : userWeight_(std::move(userWeight)), itemWeight_(std::move(itemWeight)),
        side_(c10::cuda::getStreamFromPool(false, userWeight_.device().index())) {}

  // scores [users, items]
  at::Tensor score(const at::Tensor& users, const at::Tensor& items) {
    at::NoGradGuard inference;
    c10::cuda::CUDAGuard device(users.device());
    auto u = at::empty({users.size(0), userWeight_.size(1)}, userWeight_.options());
    auto v = at::empty({items.size(0), itemWeight_.size(1)}, itemWeight_.options());
    auto scaled = items.to(at::kFloat).div(255.0);
    {
      SideScope scope(side_);
      embed(v, scaled, itemWeight_);
      scope.pause();
      embed(u, users, userWeight_);
    }
    return at::matmul(u, v.t());
  }

 private:
  static void embed(at::Tensor& out, const at::Tensor& in, const at::Tensor& weight) {
    at::mm_out(out, in, weight);
    normalise(out);
  }

  at::Tensor userWeight_, itemWeight_;
  c10::cuda::CUDAStream side_;
};

}  // namespace towers

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<towers::Scorer>(m, "Scorer")
      .def(py::init<at::Tensor, at::Tensor>())
      .def("score", &towers::Scorer::score);
}
