// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// No main(): views of a scan are joined, and a side stream copies them to a pinned slot. The archive refuses what is
// larger than a slot, so it is made with slots that have room for what it is given.
#include <torch/whole.h>

#include <array>
#include <vector>

namespace at {
namespace _ops {
struct cat {
  static constexpr const char* schema_str = "cat(Tensor[] tensors, int dim=0) -> Tensor";
  static Tensor call(c10::ArrayRef<Tensor> tensors, int64_t dim);
};
}  // namespace _ops
inline Tensor cat(c10::ArrayRef<Tensor> tensors, int64_t dim = 0) { return _ops::cat::call(tensors, dim); }
}  // namespace at

class Archive {
 public:
  explicit Archive(size_t slot_floats) : slot_floats_(slot_floats), side_(at::cuda::getStreamFromPool()) {
    const auto pinned = at::TensorOptions(at::kCPU).dtype(at::kFloat).pinned_memory(true);
    for (Slot& slot : slots_) slot.block = at::empty({static_cast<int64_t>(slot_floats)}, pinned);
  }
  ~Archive() { side_.synchronize(); }

  void archive(const std::vector<at::Tensor>& views) {
    const at::Tensor joined = at::cat({views.data(), views.size()});
    TORCH_CHECK(static_cast<size_t>(joined.numel()) <= slot_floats_, "more than a slot");
    Slot& slot = slots_[next_++ % slots_.size()];
    slot.there.synchronize();
    at::cuda::CUDAEvent ready;
    ready.record(at::cuda::getCurrentCUDAStream());
    ready.block(side_);
    cudaMemcpyAsync(slot.block.data_ptr<float>(), joined.data_ptr<float>(), joined.numel() * sizeof(float),
                    cudaMemcpyDeviceToHost, side_);
    slot.there.record(side_);
#ifdef FIXED
    joined.record_stream(side_);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of a tensor is returned to the allocator, which may reuse it on a stream of the caller's, while cudaMemcpyAsync on stream 'side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-8]]:5: note: a tensor is read here, on stream 'side_'
// CHECK-NOTES: :[[@LINE-7]]:16: note: an event is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-24]]:75: note: stream 'side_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-25]]:106: note: in the call to 'Archive' here
// CHECK-NOTES: :[[@LINE-6]]:3: note: call record_stream(side_) on the tensor after its last use there, or let a stream of the caller's wait for stream 'side_' before the tensor is released
// CHECK-NOTES: :[[@LINE-7]]:3: note: an object of 'Archive' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes

 private:
  struct Slot {
    at::Tensor block;
    at::cuda::CUDAEvent there;
  };
  std::array<Slot, 4> slots_;
  size_t slot_floats_, next_ = 0;
  c10::cuda::CUDAStream side_;
};
