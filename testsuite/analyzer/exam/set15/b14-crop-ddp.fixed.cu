#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <utility>
#include <vector>

// Gradient averaging for the training of a crop-disease classifier on several GPUs.
namespace crop {

using c10::cuda::CUDAStream;

inline void nccl_check(ncclResult_t r) {
  TORCH_CHECK(r == ncclSuccess, "NCCL: ", ncclGetErrorString(r));
}

class BucketReducer {
 public:
  BucketReducer(ncclComm_t comm, int world, c10::DeviceIndex device)
      : nccl_(comm),
        world_(world),
        device_(device),
        comm_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Starts the reduction of a bucket of gradients that are ready on the current stream.
  // The gradients hold the averages after wait().
  void push(std::vector<at::Tensor> grads) {
    at::Tensor flat = flatten(grads);
    bridge(at::cuda::getCurrentCUDAStream(device_), comm_);
    all_reduce(flat);
    scatter(flat, grads);
    flat.record_stream(comm_.unwrap());
    inflight_.push_back(std::move(grads));
  }

  void wait() {
    bridge(comm_, at::cuda::getCurrentCUDAStream(device_));
    inflight_.clear();
  }

 private:
  static at::Tensor flatten(const std::vector<at::Tensor>& grads) {
    std::vector<at::Tensor> views;
    views.reserve(grads.size());
    for (const at::Tensor& g : grads) views.push_back(g.contiguous().view(-1));
    return at::cat(views);
  }

  static void bridge(const CUDAStream& from, const CUDAStream& to) {
    at::cuda::CUDAEvent e;
    e.record(from);
    e.block(to);
  }

  void all_reduce(at::Tensor& flat) {
    nccl_check(ncclAllReduce(flat.data_ptr<float>(), flat.data_ptr<float>(),
                             static_cast<size_t>(flat.numel()), ncclFloat32, ncclSum, nccl_,
                             comm_.stream()));
  }

  void scatter(const at::Tensor& flat, const std::vector<at::Tensor>& grads) {
    c10::cuda::CUDAStreamGuard guard(comm_);
    int64_t offset = 0;
    for (const at::Tensor& g : grads) {
      const at::Tensor piece = flat.narrow(0, offset, g.numel()).view(g.sizes());
      g.copy_(piece.div(world_), /*non_blocking=*/true);
      offset += g.numel();
    }
  }

  ncclComm_t nccl_;
  int world_;
  c10::DeviceIndex device_;
  CUDAStream comm_;
  std::vector<std::vector<at::Tensor>> inflight_;
};

// One training step: the buckets are pushed in the order in which the backward pass
// finishes them.
class DataParallelStep {
 public:
  DataParallelStep(ncclComm_t comm, int world, c10::DeviceIndex device, size_t bucket_bytes)
      : reducer_(comm, world, device), bucket_bytes_(bucket_bytes) {}

  void average(const std::vector<at::Tensor>& params) {
    std::vector<at::Tensor> bucket;
    size_t bytes = 0;
    for (auto it = params.rbegin(); it != params.rend(); ++it) {
      const at::Tensor grad = it->grad();
      if (!grad.defined()) continue;
      bucket.push_back(grad);
      bytes += grad.nbytes();
      if (bytes >= bucket_bytes_) {
        reducer_.push(std::exchange(bucket, {}));
        bytes = 0;
      }
    }
    if (!bucket.empty()) reducer_.push(std::move(bucket));
    reducer_.wait();
  }

 private:
  BucketReducer reducer_;
  size_t bucket_bytes_;
};

}  // namespace crop
