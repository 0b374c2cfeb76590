// Moving snapshots of embedding tables, taken between optimiser steps.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/extension.h>

#include <deque>
#include <mutex>

namespace emb {

struct Snapshot {
  int64_t step;
  at::Tensor rows;
};

class SnapshotRing {
 public:
  SnapshotRing(int64_t depth, int64_t device) : depth_(depth), stream_(c10::cuda::getStreamFromPool(false, device)) {
    TORCH_CHECK(depth > 0, "depth must be positive");
  }

  // Decays the table and keeps a copy of what it was after the decay.
  void step(at::Tensor table, double decay) {
    TORCH_CHECK(table.is_cuda() && table.is_contiguous(), "table must be a contiguous CUDA tensor");
    c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(table.device().index());
    join(caller, stream_);
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      table.mul_(decay);
      table.clamp_(-10.0, 10.0);
      push(table);
    }
    join(stream_, caller);
  }

  at::Tensor latest() const {
    std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(!ring_.empty(), "no snapshot yet");
    stream_.synchronize();
    return ring_.back().rows.to(at::kCPU);
  }

  int64_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(ring_.size());
  }

 private:
  static void join(c10::cuda::CUDAStream from, c10::cuda::CUDAStream to) {
    cudaEvent_t e;
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventRecord(e, from.stream()));
    C10_CUDA_CHECK(cudaStreamWaitEvent(to.stream(), e, 0));
    C10_CUDA_CHECK(cudaEventDestroy(e));
  }

  at::Tensor reuse_or_allocate(const at::Tensor& like) {
    if (static_cast<int64_t>(ring_.size()) == depth_ && ring_.front().rows.sizes() == like.sizes()) {
      at::Tensor t = ring_.front().rows;
      ring_.pop_front();
      return t;
    }
    return at::empty_like(like);
  }

  void push(const at::Tensor& table) {
    std::lock_guard<std::mutex> lock(mutex_);
    at::Tensor copy = reuse_or_allocate(table);
    C10_CUDA_CHECK(cudaMemcpyAsync(copy.data_ptr(), table.data_ptr(), table.nbytes(), cudaMemcpyDeviceToDevice,
                                   c10::cuda::getCurrentCUDAStream()));
    ring_.push_back({step_++, copy});
  }

  int64_t depth_;
  int64_t step_ = 0;
  c10::cuda::CUDAStream stream_;
  mutable std::mutex mutex_;
  std::deque<Snapshot> ring_;
};

}  // namespace emb

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<emb::SnapshotRing>(m, "SnapshotRing")
      .def(py::init<int64_t, int64_t>(), py::arg("depth"), py::arg("device") = 0)
      .def("step", &emb::SnapshotRing::step)
      .def("latest", &emb::SnapshotRing::latest)
      .def("__len__", &emb::SnapshotRing::size);
}
