// Graph embedding shards: neighbours' features are gathered on one stream per shard
// and reduced on the stream of the caller.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace shards {

using c10::cuda::CUDAStream;

// A tensor together with the point in a stream at which it is complete.
class Produced {
 public:
  Produced(torch::Tensor value, CUDAStream stream) : value_(std::move(value)) { ready_.record(stream); }

  torch::Tensor consume() {
    const auto current = c10::cuda::getCurrentCUDAStream(value_.get_device());
    ready_.block(current);
    c10::cuda::CUDACachingAllocator::recordStream(value_.storage().data_ptr(), current);
    return std::move(value_);
  }

 private:
  torch::Tensor value_;
  at::cuda::CUDAEvent ready_;
};

class Shard {
 public:
  explicit Shard(torch::Tensor table)
      : table_(std::move(table)),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, table_.get_device())) {
    loaded_.record(c10::cuda::getCurrentCUDAStream(table_.get_device()));
  }

  Produced lookup(const torch::Tensor& ids) {
    at::cuda::CUDAEvent asked;
    asked.record(c10::cuda::getCurrentCUDAStream(table_.get_device()));
    loaded_.block(stream_);
    asked.block(stream_);
    c10::cuda::CUDAStreamGuard guard(stream_);
    c10::cuda::CUDACachingAllocator::recordStream(ids.storage().data_ptr(), stream_);
    c10::cuda::CUDACachingAllocator::recordStream(table_.storage().data_ptr(), stream_);
    auto rows = table_.index_select(0, ids.remainder(table_.size(0)));
    return Produced(rows.mul_(1.0 / table_.size(1)), stream_);
  }

 private:
  torch::Tensor table_;
  CUDAStream stream_;
  at::cuda::CUDAEvent loaded_;
};

class ShardedEmbedding {
 public:
  explicit ShardedEmbedding(std::vector<torch::Tensor> tables) {
    for (auto& table : tables) shards_.emplace_back(std::move(table));
  }

  torch::Tensor forward(const torch::Tensor& ids) {
    torch::NoGradGuard noGrad;
    std::vector<Produced> pending;
    pending.reserve(shards_.size());
    for (auto& shard : shards_) pending.push_back(shard.lookup(ids));

    torch::Tensor sum;
    for (auto& part : pending) {
      auto rows = part.consume();
      sum = sum.defined() ? sum.add_(rows) : rows.clone();
    }
    return sum;
  }

 private:
  std::vector<Shard> shards_;
};

}  // namespace shards

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<shards::ShardedEmbedding>(m, "ShardedEmbedding")
      .def(pybind11::init<std::vector<torch::Tensor>>())
      .def("forward", &shards::ShardedEmbedding::forward);
}
