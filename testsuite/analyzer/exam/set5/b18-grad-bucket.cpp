#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <nccl.h>

#include <utility>
#include <vector>

namespace dp {

#define NCCL_OK(x)                                                            \
  do {                                                                        \
    ncclResult_t r_ = (x);                                                    \
    TORCH_CHECK(r_ == ncclSuccess, "nccl: ", ncclGetErrorString(r_));         \
  } while (0)

// Reduces gradients bucket by bucket on a stream of its own while backward goes on.
class OverlappedReducer {
 public:
  OverlappedReducer(ncclComm_t comm, int world, int64_t bucket_elems, c10::DeviceIndex device)
      : comm_(comm),
        world_(world),
        bucket_elems_(bucket_elems),
        reduce_stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Called from the gradient hook, on the backward stream. `slice` is the part of the
  // optimiser's fp32 gradient that belongs to this parameter.
  void add(const at::Tensor& grad, at::Tensor slice) {
    pending_.emplace_back(grad.reshape({-1}), std::move(slice));
    pending_elems_ += grad.numel();
    if (pending_elems_ >= bucket_elems_) flush();
  }

  void flush() {
    if (pending_.empty()) return;
    std::vector<at::Tensor> parts;
    parts.reserve(pending_.size());
    for (auto& p : pending_) parts.push_back(p.first);
    at::Tensor flat = at::cat(parts);
    reduce(flat);
    pending_.clear();
    pending_elems_ = 0;
  }

  void finish() {
    flush();
    at::cuda::CUDAEvent done;
    done.record(reduce_stream_);
    done.block(at::cuda::getCurrentCUDAStream());
  }

 private:
  void reduce(at::Tensor& flat) {
    at::cuda::CUDAEvent filled;
    filled.record(at::cuda::getCurrentCUDAStream());
    filled.block(reduce_stream_);
    c10::cuda::CUDAStreamGuard guard(reduce_stream_);
    NCCL_OK(ncclAllReduce(flat.data_ptr(), flat.data_ptr(), flat.numel(), ncclFloat, ncclSum, comm_,
                          reduce_stream_.stream()));
    flat.div_(world_);
    scatter(flat);
  }

  void scatter(const at::Tensor& flat) {
    int64_t offset = 0;
    for (auto& p : pending_) {
      int64_t n = p.second.numel();
      p.second.copy_(flat.narrow(0, offset, n).view(p.second.sizes()));
      offset += n;
    }
  }

  ncclComm_t comm_;
  int world_;
  int64_t bucket_elems_;
  int64_t pending_elems_ = 0;
  c10::cuda::CUDAStream reduce_stream_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pending_;
};

// One backward pass worth of hooks over parameters in reverse order.
void reduce_all(OverlappedReducer& reducer, const std::vector<at::Tensor>& losses_wrt,
                std::vector<at::Tensor>& fp32_grads) {
  TORCH_CHECK(losses_wrt.size() == fp32_grads.size(), "one slice per gradient");
  for (size_t i = losses_wrt.size(); i-- > 0;) {
    at::Tensor g = losses_wrt[i].to(at::kFloat);
    g.add_(fp32_grads[i], 1e-4);
    reducer.add(g, fp32_grads[i]);
  }
  reducer.finish();
}

}  // namespace dp
