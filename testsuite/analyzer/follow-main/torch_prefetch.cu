// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir %s -- %mock -DFIXED | %filecheck %s
//
// A batch is brought in by a side stream and used in the current one. What is copied to the device without waiting is
// the host's, though the callers give tensors of the device; and a callback makes batches, until it has no more.
#include <torch/whole.h>

#include <functional>

struct Batch {
  at::Tensor image;
};
using Source = std::function<std::optional<Batch>()>;

class Prefetcher {
 public:
  explicit Prefetcher(Source source) : source_(std::move(source)), loader_(at::cuda::getStreamFromPool()) { preload(); }
  ~Prefetcher() { loader_.synchronize(); }
  std::optional<Batch> next() {
    if (!ahead_) return std::nullopt;
    const at::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream();
    loaded_.block(current);
    Batch batch = std::move(*ahead_);
#ifdef FIXED
    batch.image.record_stream(current);
#endif
    preload();
    return batch;
  }

 private:
  void preload() {
    ahead_.reset();
    const std::optional<Batch> host = source_();
    if (!host) return;
    const c10::cuda::CUDAStreamGuard guard(loader_);
    ahead_ = Batch{host->image.to(at::kCUDA, true)};
    loaded_.record(loader_);
  }
  Source source_;
  c10::cuda::CUDAStream loader_;
  at::cuda::CUDAEvent loaded_;
  std::optional<Batch> ahead_;
};

// CHECK: static int left = 8; if (left-- <= 0) return {};
// CHECK: (void)::sum(
// CHECK: {{^}}  to its end
void sum(const Source& source, const at::Tensor& total) {
  Prefetcher prefetcher(source);
  while (auto batch = prefetcher.next()) {
    total.add_(batch->image);
  }  // FIRES: missing-record-stream
}

// One element: what a condition insists on is given. What its message would say is not asked.
// CHECK: (void)::scaled(
// CHECK: {{^}}  to its end
void scaled(const at::Tensor& scale, const at::Tensor& x) {
  const pybind11::gil_scoped_release released;
  TORCH_CHECK(scale.numel() == 1, "one number, and not ", scale.numel());
  at::Tensor copy = at::empty({64, 64}, x.options());
  const at::cuda::CUDAStream side = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent ready;
  ready.record(at::cuda::getCurrentCUDAStream());
  ready.block(side);
  {
    const c10::cuda::CUDAStreamGuard guard(side);
    copy.copy_(x, true);
    copy.add_(scale);
  }
#ifdef FIXED
  copy.record_stream(side);
#endif
}  // FIRES: missing-record-stream
