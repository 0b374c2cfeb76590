// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// What a callback is given as a tensor it reads: a model. The tensors that a callback returns have the sizes that the file
// checks, under whichever name.
#include <torch/whole.h>

#include <functional>
#include <optional>
#include <utility>

using Source = std::function<std::optional<at::Tensor>()>;
using Model = std::function<at::Tensor(const at::Tensor&)>;

class Prefetcher {
 public:
  explicit Prefetcher(Source source) : source_(std::move(source)), loader_(at::cuda::getStreamFromPool()) { preload(); }
  std::optional<at::Tensor> next() {
    if (!ahead_) return std::nullopt;
    const at::cuda::CUDAStream consumer = at::cuda::getCurrentCUDAStream();
    loaded_.block(consumer);
    std::optional<at::Tensor> batch = std::move(ahead_);
    ahead_.reset();
#ifdef FIXED
    batch->record_stream(consumer);
#endif
    preload();
    return batch;
  }

 private:
  void preload() {
    const std::optional<at::Tensor> tile = source_();
    if (!tile) return;
    ahead_ = normalized(*tile);
  }
  at::Tensor normalized(const at::Tensor& tile) {
    TORCH_CHECK(tile.size(1) == 12);
    const c10::cuda::CUDAStreamGuard guard(loader_);
    at::Tensor out = at::empty({64, 12}, tile.options());
    at::Tensor ones = at::empty({64, 12}, tile.options());
    out.add_(ones);
    loaded_.record(loader_);
    return out;
  }
  Source source_;
  at::cuda::CUDAStream loader_;
  at::cuda::CUDAEvent loaded_;
  std::optional<at::Tensor> ahead_;
};

void classify(Prefetcher& prefetcher, const Model& model, at::Tensor& counts) {
  while (std::optional<at::Tensor> batch = prefetcher.next()) {
    counts.add_(model(*batch));
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'out' is returned to the allocator, which may reuse it on stream 'loader_', while what is called back on a stream of the caller's still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:17: note: tensor 'out' is read here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE-18]]:22: note: 'out' is allocated here
// CHECK-NOTES: :[[@LINE-24]]:14: note: in the call to 'normalized' here
// CHECK-NOTES: :[[@LINE-43]]:109: note: in the call to 'preload' here
// CHECK-NOTES: :[[@LINE-44]]:107: note: in the call to 'Prefetcher' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: call record_stream(a stream of the caller's) on the tensor after its last use there, or let stream 'loader_' wait for a stream of the caller's before the tensor is released
// CHECK-NOTES: :[[@LINE-8]]:3: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
}

/// Who is given a tensor of another stream's is given a way to wait for it.
class Loader {
 public:
  explicit Loader(Source source) : source_(std::move(source)), side_(at::cuda::getStreamFromPool()) {}
  std::optional<at::Tensor> load() {
    std::optional<at::Tensor> tile = source_();
    if (!tile) return std::nullopt;
    const c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor out = at::empty({64, 12}, tile->options());
    at::Tensor ones = at::empty({64, 12}, tile->options());
    out.add_(ones);
    loaded_.record(side_);
    return out;
  }
  at::Tensor told_by_stream(const std::function<at::Tensor(const at::Tensor&, at::cuda::CUDAStream)>& model) {
    const std::optional<at::Tensor> one = load();
    if (!one) return {};
    at::Tensor result = model(*one, side_);
    loaded_.block(at::cuda::getCurrentCUDAStream());
    return result;
  }
  at::Tensor told_by_handle(const std::function<at::Tensor(const at::Tensor&, cudaStream_t)>& model) {
    const std::optional<at::Tensor> one = load();
    if (!one) return {};
    at::Tensor result = model(*one, side_.stream());
    cudaStreamSynchronize(side_.stream());
    return result;
  }
  at::Tensor told_by_event(const std::function<at::Tensor(const at::Tensor&, at::cuda::CUDAEvent&)>& model) {
    const std::optional<at::Tensor> one = load();
    if (!one) return {};
    at::Tensor result = model(*one, loaded_);
    cudaStreamSynchronize(side_.stream());
    return result;
  }

 private:
  Source source_;
  at::cuda::CUDAStream side_;
  at::cuda::CUDAEvent loaded_;
};
