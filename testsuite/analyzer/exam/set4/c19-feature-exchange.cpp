#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace gnn {

// Gathers node features for the next mini-batch on a stream of the pool.
class FeatureGatherer {
 public:
  FeatureGatherer(at::Tensor table, c10::DeviceIndex device)
      : table_(std::move(table)), side_(c10::cuda::getStreamFromPool(false, device)) {}

  void start(const at::Tensor& nodes) {
    const auto current = c10::cuda::getCurrentCUDAStream(side_.device_index());
    at::cuda::CUDAEvent ready;
    ready.record(current);
    ready.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    nodes.record_stream(side_.unwrap());
    rows_ = at::index_select(table_, 0, nodes);
    norm_ = rows_.norm(2, {1}, true).clamp_min_(1e-6);
    done_.record(side_);
  }

  at::Tensor finish() {
    const auto current = c10::cuda::getCurrentCUDAStream(side_.device_index());
    done_.block(current);
    rows_.record_stream(current.unwrap());
    norm_.record_stream(current.unwrap());
    at::Tensor out = rows_.div(norm_);
    rows_ = at::Tensor();
    norm_ = at::Tensor();
    return out;
  }

 private:
  at::Tensor table_;
  at::Tensor rows_, norm_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent done_;
};

at::Tensor embed_batches(const at::Tensor& table, const std::vector<at::Tensor>& batches, const at::Tensor& weight) {
  TORCH_CHECK(table.is_cuda() && !batches.empty());
  c10::cuda::CUDAGuard guard(table.device());
  FeatureGatherer gather(table, table.device().index());
  at::Tensor acc = at::zeros({weight.size(1)}, weight.options());
  gather.start(batches.front().flatten().clone());
  for (size_t i = 0; i < batches.size(); ++i) {
    at::Tensor x = gather.finish();
    if (i + 1 < batches.size()) gather.start(batches[i + 1].flatten().clone());
    acc.add_(at::matmul(x, weight).sum(0));
  }
  return acc;
}

}  // namespace gnn
