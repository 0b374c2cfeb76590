// Catalogue scoring for the ranking service.
//
// Item vectors are kept in one big table per shard. Gathering rows is bandwidth bound, so it
// runs on a lane of its own and overlaps with the query tower.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace ranker {

class ShardFetcher {
 public:
  explicit ShardFetcher(at::Tensor table)
      : table_(std::move(table)),
        lane_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, table_.device().index())) {
    TORCH_CHECK(table_.is_cuda() && table_.dim() == 2, "table must be [items, dim] on a GPU");
    // The table may still be filled by the stream that is current now.
    c10::cuda::getCurrentCUDAStream(table_.device().index()).synchronize();
  }

  ~ShardFetcher() {
    lane_.synchronize();
  }

  ShardFetcher(const ShardFetcher&) = delete;
  ShardFetcher& operator=(const ShardFetcher&) = delete;

  // Returns the rows `ids` of the table, scaled to unit length.
  at::Tensor fetch(const at::Tensor& ids) {
    const auto caller = c10::cuda::getCurrentCUDAStream(table_.device().index());
    ids_ready_.record(caller);
    ids_ready_.block(lane_);
    ids.record_stream(lane_.unwrap());

    at::Tensor rows;
    {
      const c10::cuda::CUDAStreamGuard guard(lane_);
      rows = table_.index_select(0, ids);
      const at::Tensor norm = rows.square().sum(1, /*keepdim=*/true).sqrt_().clamp_min_(1e-6);
      rows.div_(norm);
    }
    rows.record_stream(caller.unwrap());
    return rows;
  }

  const c10::cuda::CUDAStream& lane() const {
    return lane_;
  }

 private:
  at::Tensor table_;
  c10::cuda::CUDAStream lane_;
  at::cuda::CUDAEvent ids_ready_;
};

class Scorer {
 public:
  Scorer(at::Tensor table, at::Tensor tower)
      : fetcher_(std::make_unique<ShardFetcher>(std::move(table))), tower_(std::move(tower)) {}

  // query: [batch, features], ids: [candidates]; result: [batch, candidates].
  at::Tensor score(const at::Tensor& query, const at::Tensor& ids) {
    const c10::cuda::CUDAGuard device_guard(query.device());
    const at::Tensor items = fetcher_->fetch(ids);
    const at::Tensor q = at::relu(query.matmul(tower_));
    return q.matmul(items.t());
  }

  std::vector<at::Tensor> top(const at::Tensor& query, const at::Tensor& ids, int64_t k) {
    const at::Tensor s = score(query, ids);
    auto [values, index] = s.topk(k, /*dim=*/1);
    return {values, ids.index_select(0, index.flatten()).view_as(index)};
  }

 private:
  std::unique_ptr<ShardFetcher> fetcher_;
  at::Tensor tower_;
};

}  // namespace ranker

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<ranker::Scorer>(m, "Scorer")
      .def(pybind11::init<at::Tensor, at::Tensor>())
      .def("score", &ranker::Scorer::score)
      .def("top", &ranker::Scorer::top);
}
