// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// No main(): an image is cut into tiles, and a side stream brings some of them to the device together. An image that is
// smaller than a tile gives none, and stack() refuses an empty list: a larger one is made up. Who takes a batch lets go
// of it while the device still works on it.
#include <torch/whole.h>

#include <optional>
#include <utility>
#include <vector>

namespace at {
namespace _ops {
struct stack {
  static constexpr const char* schema_str = "stack(Tensor[] tensors, int dim=0) -> Tensor";
  static Tensor call(c10::ArrayRef<Tensor> tensors, int64_t dim);
};
struct narrow {
  static constexpr const char* schema_str = "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)";
  static Tensor call(const Tensor& self, int64_t dim, int64_t start, int64_t length);
};
struct pin_memory {
  static constexpr const char* schema_str = "pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)";
  static Tensor call(const Tensor& self, std::optional<Device> device);
};
}  // namespace _ops
inline Tensor stack(c10::ArrayRef<Tensor> tensors, int64_t dim = 0) { return _ops::stack::call(tensors, dim); }
inline Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return _ops::narrow::call(self, dim, start, length);
}
}  // namespace at
at::Tensor pinned(const at::Tensor& tensor) { return at::_ops::pin_memory::call(tensor, std::nullopt); }

class Loader {
 public:
  explicit Loader(at::Tensor slide) : slide_(std::move(slide)), side_(at::cuda::getStreamFromPool()) { preload(); }
  std::optional<at::Tensor> next() {
    if (!ahead_) return std::nullopt;
    const at::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream();
    uploaded_.block(current);
    at::Tensor batch = std::move(*ahead_);
    ahead_.reset();
#ifdef FIXED
    batch.record_stream(current);
#endif
    preload();
    return batch;
  }

 private:
  void preload() {
    constexpr int64_t kTile = 256;
    constexpr size_t kBatch = 4;
    const int64_t columns = slide_.size(1) / kTile, tiles = slide_.size(0) / kTile * columns;
    std::vector<at::Tensor> batch;
    for (; tile_ < tiles && batch.size() < kBatch; ++tile_) {
      const at::Tensor row = at::narrow(slide_, 0, tile_ / columns * kTile, kTile);
      batch.push_back(at::narrow(row, 1, tile_ % columns * kTile, kTile));
    }
    if (batch.empty()) return;
    const at::Tensor host = pinned(at::stack({batch.data(), batch.size()}));
    const c10::cuda::CUDAStreamGuard guard(side_);
    ahead_ = host.to(at::kCUDA, true);
    uploaded_.record(side_);
  }

  at::Tensor slide_;
  int64_t tile_ = 0;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent uploaded_;
  std::optional<at::Tensor> ahead_;
};

at::Tensor contrast(const at::Tensor& slide) {
  Loader loader(slide);
  std::vector<at::Tensor> squares;
  while (auto batch = loader.next()) {
    squares.push_back(batch->mul(*batch));
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of a tensor is returned to the allocator, which may reuse it on stream 'side_', while at::mul on a stream of the caller's still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:30: note: a tensor is read here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE-3]]:3: note: call record_stream(a stream of the caller's) on the tensor after its last use there, or let stream 'side_' wait for a stream of the caller's before the tensor is released
// CHECK-NOTES: :[[@LINE-4]]:3: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
  return at::stack({squares.data(), squares.size()});
}
