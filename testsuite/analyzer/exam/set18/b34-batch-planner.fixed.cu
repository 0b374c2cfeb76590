// Decode-time batch planner of an inference server: the page table of the
// running requests is packed on the host and uploaded before every step.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace serve {

// out[b, :] = pages[table[b, last page]][last row]
__global__ void gatherLast(const float* __restrict__ pages, const int* __restrict__ table,
                           const int* __restrict__ lens, int maxPages, int pageRows, int dim,
                           float* __restrict__ out) {
  const int b = blockIdx.x;
  const int row = lens[b] - 1;
  const int page = table[b * maxPages + row / pageRows];
  const float* src = pages + (int64_t(page) * pageRows + row % pageRows) * dim;
  for (int c = threadIdx.x; c < dim; c += blockDim.x) out[int64_t(b) * dim + c] = src[c];
}

struct Running {
  std::vector<int> pages;
  int length = 0;
};

class PlanBuffers {
 public:
  PlanBuffers(int maxBatch, int maxPages, at::Device device) : maxPages_(maxPages) {
    auto host = at::TensorOptions().dtype(at::kInt).pinned_memory(true);
    auto dev = at::TensorOptions().dtype(at::kInt).device(device);
    hostTable_ = at::zeros({maxBatch, maxPages}, host);
    hostLens_ = at::zeros({maxBatch}, host);
    table_ = at::zeros({maxBatch, maxPages}, dev);
    lens_ = at::zeros({maxBatch}, dev);
  }

  void pack(const std::vector<Running>& batch) {
    uploaded_.synchronize();
    int* table = hostTable_.mutable_data_ptr<int>();
    int* lens = hostLens_.mutable_data_ptr<int>();
    for (size_t b = 0; b < batch.size(); ++b) {
      lens[b] = batch[b].length;
      for (size_t p = 0; p < batch[b].pages.size(); ++p) table[b * maxPages_ + p] = batch[b].pages[p];
    }
  }

  void upload() {
    table_.copy_(hostTable_, /*non_blocking=*/true);
    lens_.copy_(hostLens_, /*non_blocking=*/true);
    uploaded_.record();
  }

  const at::Tensor& table() const { return table_; }
  const at::Tensor& lens() const { return lens_; }
  int maxPages() const { return maxPages_; }

 private:
  int maxPages_;
  at::Tensor hostTable_, hostLens_;
  at::Tensor table_, lens_;
  at::cuda::CUDAEvent uploaded_;
};

class Decoder {
 public:
  Decoder(at::Tensor pages, int maxBatch, int maxPages)
      : pages_(std::move(pages)), plan_(maxBatch, maxPages, pages_.device()), maxBatch_(maxBatch) {
    TORCH_CHECK(pages_.is_cuda() && pages_.dim() == 3 && pages_.is_contiguous(), "pages: [n, rows, dim]");
  }

  void admit(std::vector<int> pages, int length) {
    TORCH_CHECK(length > 0 && int(pages.size()) <= plan_.maxPages() && int(batch_.size()) < maxBatch_, "batch is full");
    batch_.push_back({std::move(pages), length});
  }

  // Runs `steps` decode steps on the current stream, which is the same one for
  // all calls. Nothing in here waits for
  // the device; the caller does when it needs the samples.
  std::vector<at::Tensor> run(int steps, const at::Tensor& proj) {
    c10::cuda::CUDAGuard device(pages_.device());
    std::vector<at::Tensor> logits;
    for (int s = 0; s < steps; ++s) {
      plan_.pack(batch_);
      plan_.upload();
      logits.push_back(at::matmul(lastRows(), proj));
      grow();
    }
    return logits;
  }

 private:
  at::Tensor lastRows() {
    const int n = int(batch_.size()), rows = int(pages_.size(1)), dim = int(pages_.size(2));
    auto out = at::empty({n, dim}, pages_.options());
    if (n == 0) return out;
    gatherLast<<<n, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        pages_.const_data_ptr<float>(), plan_.table().const_data_ptr<int>(),
        plan_.lens().const_data_ptr<int>(), plan_.maxPages(), rows, dim, out.mutable_data_ptr<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
  }

  void grow() {
    const int rows = int(pages_.size(1));
    for (Running& r : batch_) {
      if (r.length < int(r.pages.size()) * rows) ++r.length;
    }
  }

  at::Tensor pages_;
  PlanBuffers plan_;
  int maxBatch_;
  std::vector<Running> batch_;
};

}  // namespace serve

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<serve::Decoder>(m, "Decoder")
      .def(py::init<at::Tensor, int, int>())
      .def("admit", &serve::Decoder::admit)
      .def("run", &serve::Decoder::run);
}
