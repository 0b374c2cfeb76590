// Asynchronous all-gather. The work object keeps the tensors alive until the
// current stream has been ordered after the collective.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <memory>
#include <utility>
#include <vector>

namespace coll {

inline void nccl_ok(ncclResult_t r) { TORCH_CHECK(r == ncclSuccess, "NCCL: ", ncclGetErrorString(r)); }

class Work {
 public:
  Work(std::vector<at::Tensor> stash, at::Tensor output) : stash_(std::move(stash)), output_(std::move(output)) {}
  ~Work() { wait(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  at::cuda::CUDAEvent& finished() { return finished_; }

  at::Tensor wait() {
    if (!stash_.empty()) {
      finished_.block(c10::cuda::getCurrentCUDAStream(output_.device().index()));
      stash_.clear();
    }
    return output_;
  }

 private:
  std::vector<at::Tensor> stash_;
  at::Tensor output_;
  at::cuda::CUDAEvent finished_;
};

class Communicator {
 public:
  Communicator(ncclComm_t comm, int64_t world, c10::DeviceIndex device)
      : comm_(comm), world_(world), stream_(c10::cuda::getStreamFromPool(true, device)) {}

  // All tensors come from the current stream, on which wait() is called, too.
  std::unique_ptr<Work> all_gather(const at::Tensor& shard) {
    const at::Tensor input = shard.contiguous();
    TORCH_CHECK(input.scalar_type() == at::kHalf, "half expected");
    at::Tensor output = at::empty({world_, input.numel()}, input.options());
    auto work = std::make_unique<Work>(std::vector<at::Tensor>{input, output}, output);

    ready_.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    ready_.block(stream_);
    nccl_ok(ncclAllGather(input.const_data_ptr(), output.mutable_data_ptr(), input.numel(), ncclHalf, comm_,
                          stream_.stream()));
    work->finished().record(stream_);
    return work;
  }

 private:
  ncclComm_t comm_;
  int64_t world_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent ready_;
};

// Gathers the weights of layer i + 1 while layer i is computed.
at::Tensor sharded_forward(Communicator& comm, const std::vector<at::Tensor>& shards, at::Tensor x) {
  if (shards.empty()) return x;
  auto next = comm.all_gather(shards[0]);
  for (size_t i = 0; i < shards.size(); ++i) {
    at::Tensor weight = next->wait();
    if (i + 1 < shards.size()) next = comm.all_gather(shards[i + 1]);
    x = at::relu(at::matmul(x, weight.reshape({x.size(-1), -1})));
  }
  return x;
}

} // namespace coll
