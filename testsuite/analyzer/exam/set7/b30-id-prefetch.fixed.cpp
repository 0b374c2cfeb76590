// Recommender: embedding rows of the next batch are gathered on a second stream while the current batch is scored.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace recommend {

struct Prefetched {
    at::Tensor rows;
    at::Tensor users;
    at::cuda::CUDAEvent ready;
};

// Gathers on its own stream. The table belongs to the prefetcher and is constant.
class RowPrefetcher {
public:
    explicit RowPrefetcher(const at::Tensor& table)
        : table_(table.detach().clone()),
          gather_(at::cuda::getStreamFromPool(false, table.get_device()))
    {
        at::cuda::CUDAEvent table_ready;
        table_ready.record(at::cuda::getCurrentCUDAStream(table.get_device()));
        table_ready.block(gather_);
        table_.record_stream(gather_);
    }

    // `ids` and `users` are pinned host tensors of one batch; they stay as they are until its scores were read.
    Prefetched prefetch(const at::Tensor& ids, const at::Tensor& users)
    {
        TORCH_CHECK(ids.is_pinned() && users.is_pinned(), "pinned batches only");
        const c10::cuda::CUDAStreamGuard guard(gather_);
        Prefetched batch;
        at::Tensor device_ids = ids.to(table_.device(), /*non_blocking=*/true);
        batch.rows = table_.index_select(0, device_ids);
        batch.users = users.to(table_.device(), /*non_blocking=*/true);
        batch.ready.record(gather_);
        return batch;
    }

private:
    at::Tensor table_;
    c10::cuda::CUDAStream gather_;
};

class Scorer {
public:
    Scorer(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

    at::Tensor score(Prefetched& batch) const
    {
        take_over(batch);
        at::Tensor hidden = at::relu(at::addmm(bias_, batch.rows, weight_));
        return hidden.mul(batch.users).sum(1);
    }

private:
    // From here on the batch is used on the current stream.
    static void take_over(Prefetched& batch)
    {
        const auto stream = at::cuda::getCurrentCUDAStream(batch.rows.get_device());
        batch.ready.block(stream);
        batch.rows.record_stream(stream);
        batch.users.record_stream(stream);
    }

    at::Tensor weight_;
    at::Tensor bias_;
};

// Scores all batches and keeps `depth` of them in flight on the gather stream.
std::vector<at::Tensor> score_all(RowPrefetcher& prefetcher, const Scorer& scorer,
                                  const std::vector<std::pair<at::Tensor, at::Tensor>>& batches, size_t depth)
{
    std::vector<at::Tensor> scores;
    scores.reserve(batches.size());
    std::deque<Prefetched> queue;
    size_t next = 0;
    while (scores.size() < batches.size()) {
        while (next < batches.size() && queue.size() < depth) {
            queue.push_back(prefetcher.prefetch(batches[next].first, batches[next].second));
            ++next;
        }
        scores.push_back(scorer.score(queue.front()));
        queue.pop_front();
    }
    return scores;
}

std::vector<at::Tensor> score_batches(const at::Tensor& table, const at::Tensor& weight, const at::Tensor& bias,
                                      const std::vector<std::pair<at::Tensor, at::Tensor>>& batches)
{
    const c10::cuda::CUDAGuard guard(table.device());
    RowPrefetcher prefetcher(table);
    const Scorer scorer(weight, bias);
    return score_all(prefetcher, scorer, batches, 2);
}

}  // namespace recommend

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("score_batches", &recommend::score_batches, "Scores of pinned batches of (ids, users)");
}
