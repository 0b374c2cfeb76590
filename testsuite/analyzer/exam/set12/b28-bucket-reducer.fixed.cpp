// Data-parallel training of the particle-flow network: gradients are reduced bucket by bucket while the
// remaining backward pass is still running.
#include <torch/torch.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <nccl.h>

#include <memory>
#include <vector>

namespace pflow {

#define PF_NCCL_CHECK(cmd)                                                     \
  do {                                                                         \
    ncclResult_t rc = (cmd);                                                   \
    TORCH_CHECK(rc == ncclSuccess, "NCCL: ", ncclGetErrorString(rc));          \
  } while (0)

class Communicator {
 public:
  Communicator(ncclUniqueId id, int rank, int world, c10::DeviceIndex device)
      : world_(world), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {
    c10::cuda::CUDAGuard guard(device);
    PF_NCCL_CHECK(ncclCommInitRank(&comm_, world, id, rank));
  }
  ~Communicator() { ncclCommDestroy(comm_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void all_reduce(torch::Tensor& t) {
    PF_NCCL_CHECK(ncclAllReduce(t.data_ptr<float>(), t.data_ptr<float>(), static_cast<size_t>(t.numel()), ncclFloat,
                                ncclSum, comm_, stream_.stream()));
  }
  const c10::cuda::CUDAStream& stream() const { return stream_; }
  int world() const { return world_; }

 private:
  ncclComm_t comm_ = nullptr;
  int world_;
  c10::cuda::CUDAStream stream_;
};

torch::Tensor flatten(const std::vector<torch::Tensor>& grads) {
  std::vector<torch::Tensor> flat;
  flat.reserve(grads.size());
  for (const auto& g : grads) flat.push_back(g.reshape({-1}));
  return torch::cat(flat);
}

void unflatten_into(const torch::Tensor& flat, std::vector<torch::Tensor>& grads) {
  int64_t at = 0;
  for (auto& g : grads) {
    g.copy_(flat.narrow(0, at, g.numel()).view_as(g), /*non_blocking=*/true);
    at += g.numel();
  }
}

class BucketReducer {
 public:
  explicit BucketReducer(Communicator& comm) : comm_(comm) {}

  // Called on the compute stream as soon as the gradients of a bucket are final.
  void launch(std::vector<torch::Tensor> grads) {
    auto compute = c10::cuda::getCurrentCUDAStream();
    torch::Tensor flat = flatten(grads);
    flat.record_stream(comm_.stream().unwrap());

    at::cuda::CUDAEvent packed;
    packed.record(compute);
    packed.block(comm_.stream());
    {
      c10::cuda::CUDAStreamGuard guard(comm_.stream());
      comm_.all_reduce(flat);
      flat.div_(comm_.world());
      unflatten_into(flat, grads);
    }
    pending_.push_back(std::move(grads));
  }

  // After this the optimiser, on the current stream, sees the reduced gradients.
  void finalize() {
    done_.record(comm_.stream());
    done_.block(c10::cuda::getCurrentCUDAStream());
    pending_.clear();
  }

 private:
  Communicator& comm_;
  at::cuda::CUDAEvent done_;
  std::vector<std::vector<torch::Tensor>> pending_;
};

std::vector<std::vector<torch::Tensor>> make_buckets(const std::vector<torch::Tensor>& parameters, int64_t limit) {
  std::vector<std::vector<torch::Tensor>> buckets(1);
  int64_t used = 0;
  for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
    if (!it->grad().defined()) continue;
    if (used + it->numel() > limit && !buckets.back().empty()) {
      buckets.emplace_back();
      used = 0;
    }
    buckets.back().push_back(it->mutable_grad());
    used += it->numel();
  }
  return buckets;
}

class Trainer {
 public:
  Trainer(std::shared_ptr<Communicator> comm, std::vector<torch::Tensor> parameters)
      : comm_(std::move(comm)), reducer_(*comm_), parameters_(std::move(parameters)) {}

  void step(const torch::Tensor& loss, float lr) {
    loss.backward();
    for (auto& bucket : make_buckets(parameters_, 1 << 22)) reducer_.launch(bucket);
    reducer_.finalize();
    torch::NoGradGuard no_grad;
    for (auto& p : parameters_) {
      if (!p.grad().defined()) continue;
      p.sub_(p.grad(), lr);
      p.mutable_grad().zero_();
    }
  }

 private:
  std::shared_ptr<Communicator> comm_;
  BucketReducer reducer_;
  std::vector<torch::Tensor> parameters_;
};

}  // namespace pflow
