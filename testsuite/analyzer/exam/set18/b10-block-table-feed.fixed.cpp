// Paged feature lookup: every step the scheduler picks page numbers on the CPU
// and the gather runs on the GPU, without waiting for earlier steps.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace paged {

// Page numbers of the current step. The host side is page-locked so that the
// upload does not stall the scheduler.
class PageFeed {
 public:
  PageFeed(int64_t rows, const at::Device& device)
      : rows_(rows),
        host_(at::empty({rows}, at::TensorOptions().dtype(at::kLong).pinned_memory(true))),
        device_(at::zeros({rows}, at::TensorOptions().dtype(at::kLong).device(device))) {}

  int64_t rows() const { return rows_; }

  void stage(const std::vector<int64_t>& pages) {
    TORCH_CHECK(static_cast<int64_t>(pages.size()) <= rows_, "too many pages");
    copied_.synchronize();
    int64_t* dst = host_.data_ptr<int64_t>();
    std::copy(pages.begin(), pages.end(), dst);
    std::fill(dst + pages.size(), dst + rows_, int64_t{0});
  }

  const at::Tensor& publish() {
    device_.copy_(host_, /*non_blocking=*/true);
    copied_.record(c10::cuda::getCurrentCUDAStream());
    return device_;
  }

 private:
  int64_t rows_;
  at::Tensor host_;
  at::Tensor device_;
  at::cuda::CUDAEvent copied_;
};

class PageReader {
 public:
  PageReader(at::Tensor store, int64_t rowsPerStep)
      : store_(std::move(store)), feed_(rowsPerStep, store_.device()) {
    TORCH_CHECK(store_.is_cuda() && store_.dim() == 2, "store must be a CUDA matrix");
  }

  // Gathers one step on the current stream; does not block the host.
  at::Tensor step(const std::vector<int64_t>& pages) {
    feed_.stage(pages);
    const at::Tensor& index = feed_.publish();
    return store_.index_select(0, index);
  }

 private:
  at::Tensor store_;
  PageFeed feed_;
};

// Round-robin walk over the store, `stride` pages apart.
class Scheduler {
 public:
  Scheduler(int64_t pages, int64_t stride) : pages_(pages), stride_(stride) {}

  std::vector<int64_t> next(int64_t rows) {
    std::vector<int64_t> out(rows);
    for (auto& p : out) {
      p = cursor_;
      cursor_ = (cursor_ + stride_) % pages_;
    }
    return out;
  }

 private:
  int64_t pages_, stride_, cursor_ = 0;
};

at::Tensor run(at::Tensor store, int64_t steps, int64_t rowsPerStep, int64_t stride) {
  Scheduler scheduler(store.size(0), stride);
  PageReader reader(store, rowsPerStep);
  at::Tensor sum = at::zeros({rowsPerStep, store.size(1)}, store.options());
  for (int64_t s = 0; s < steps; ++s) {
    sum.add_(reader.step(scheduler.next(rowsPerStep)));
  }
  return sum;
}

}  // namespace paged

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &paged::run, "paged gather over a round-robin schedule");
}
