#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <memory>
#include <vector>

namespace ddp {

#define C10D_NCCL_CHECK(cmd)                                                        \
  do {                                                                              \
    ncclResult_t result = cmd;                                                      \
    TORCH_CHECK(result == ncclSuccess, "NCCL error: ", ncclGetErrorString(result)); \
  } while (0)

// Handle of a collective; wait() orders the calling thread's current stream after it.
class WorkNCCL {
 public:
  explicit WorkNCCL(c10::cuda::CUDAStream ncclStream) { done_.record(ncclStream); }
  void wait() { done_.block(c10::cuda::getCurrentCUDAStream()); }

 private:
  at::cuda::CUDAEvent done_;
};

class ProcessGroupNCCL {
 public:
  ProcessGroupNCCL(ncclComm_t comm, c10::DeviceIndex device)
      : comm_(comm), ncclStream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // In place. Enqueued on the group's stream, after what the current stream has so far.
  void allreduce(at::Tensor& tensor) {
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(ncclStream_);
    C10D_NCCL_CHECK(ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(),
                                  ncclFloat, ncclSum, comm_, ncclStream_.stream()));
    c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), ncclStream_);
  }

  std::unique_ptr<WorkNCCL> finish() { return std::make_unique<WorkNCCL>(ncclStream_); }
  c10::cuda::CUDAStream stream() const { return ncclStream_; }

 private:
  ncclComm_t comm_;
  c10::cuda::CUDAStream ncclStream_;
};

class Reducer {
 public:
  Reducer(ProcessGroupNCCL& group, std::vector<std::vector<at::Tensor>> buckets)
      : group_(group), buckets_(std::move(buckets)) {}

  void reduceBucket(size_t index) {
    auto& grads = buckets_[index];
    std::vector<at::Tensor> views;
    views.reserve(grads.size());
    for (auto& g : grads) {
      views.push_back(g.view({-1}));
    }
    at::Tensor flat = at::cat(views);
    group_.allreduce(flat);
    unflattenInto(flat, views);
    pending_.push_back(group_.finish());
  }

  void finalizeBackward() {
    for (auto& work : pending_) {
      work->wait();
    }
    pending_.clear();
  }

  const std::vector<std::vector<at::Tensor>>& buckets() const { return buckets_; }

 private:
  void unflattenInto(const at::Tensor& flat, std::vector<at::Tensor>& views) {
    c10::cuda::CUDAStreamGuard guard(group_.stream());
    int64_t offset = 0;
    for (auto& v : views) {
      v.copy_(flat.narrow(0, offset, v.numel()), /*non_blocking=*/true);
      offset += v.numel();
    }
  }

  ProcessGroupNCCL& group_;
  std::vector<std::vector<at::Tensor>> buckets_;
  std::vector<std::unique_ptr<WorkNCCL>> pending_;
};

} // namespace ddp

int main() {
  int device = 0;
  ncclComm_t comm;
  C10D_NCCL_CHECK(ncclCommInitAll(&comm, 1, &device));
  {
    const c10::cuda::CUDAGuard deviceGuard(static_cast<c10::DeviceIndex>(device));
    ddp::ProcessGroupNCCL group(comm, 0);
    std::vector<std::vector<at::Tensor>> buckets(4);
    for (auto& bucket : buckets) {
      for (int i = 0; i < 8; ++i) {
        bucket.push_back(at::randn({1024, 1024}, at::device(at::kCUDA)));
      }
    }
    ddp::Reducer reducer(group, std::move(buckets));
    for (size_t b = 0; b < 4; ++b) {
      reducer.reduceBucket(b);
    }
    reducer.finalizeBackward();
    for (const auto& bucket : reducer.buckets()) {
      TORCH_CHECK(bucket[0].isfinite().all().item<bool>());
    }
  }
  C10D_NCCL_CHECK(ncclCommDestroy(comm));
  return 0;
}
