#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <utility>
#include <vector>

namespace ddp {

#define NCCL_OK(cmd)                                                   \
  do {                                                                 \
    ncclResult_t result = (cmd);                                       \
    TORCH_CHECK(result == ncclSuccess, ncclGetErrorString(result));    \
  } while (0)

class BucketReducer {
 public:
  BucketReducer(ncclComm_t comm, int world, int64_t bucket_elems)
      : comm_(comm),
        world_(world),
        bucket_elems_(bucket_elems),
        comm_stream_(c10::cuda::getStreamFromPool(true)) {}

  // Called from the autograd hook of each parameter.
  void mark_ready(at::Tensor grad) {
    filled_ += grad.numel();
    bucket_.push_back(std::move(grad));
    if (filled_ >= bucket_elems_) flush();
  }

  void finalize() {
    if (!bucket_.empty()) flush();
    done_.block(c10::cuda::getCurrentCUDAStream());
    in_flight_.clear();
  }

 private:
  void flush() {
    launch(bucket_);
    for (auto& g : bucket_) in_flight_.push_back(std::move(g));
    bucket_.clear();
    filled_ = 0;
  }

  void launch(const std::vector<at::Tensor>& grads) {
    std::vector<at::Tensor> flat_views;
    for (const auto& g : grads) flat_views.push_back(g.reshape({-1}));
    at::Tensor flat = at::cat(flat_views);
    flat.div_(world_);

    ready_.record(c10::cuda::getCurrentCUDAStream());
    ready_.block(comm_stream_);
    c10::cuda::CUDACachingAllocator::recordStream(flat.storage().data_ptr(), comm_stream_);

    c10::cuda::CUDAStreamGuard guard(comm_stream_);
    NCCL_OK(ncclAllReduce(flat.data_ptr(), flat.data_ptr(), flat.numel(), ncclFloat, ncclSum, comm_,
                          comm_stream_.stream()));
    int64_t offset = 0;
    for (auto g : grads) {
      g.copy_(flat.narrow(0, offset, g.numel()).view_as(g), /*non_blocking=*/true);
      offset += g.numel();
    }
    done_.record(comm_stream_);
  }

  ncclComm_t comm_;
  int world_;
  int64_t bucket_elems_;
  int64_t filled_ = 0;
  c10::cuda::CUDAStream comm_stream_;
  at::cuda::CUDAEvent ready_;
  at::cuda::CUDAEvent done_;
  std::vector<at::Tensor> bucket_;
  std::vector<at::Tensor> in_flight_;
};

}  // namespace ddp
