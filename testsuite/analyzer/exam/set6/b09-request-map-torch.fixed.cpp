#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <vector>

namespace serve {

struct Batch {
    at::Tensor rows;
    int64_t first = 0;
};

class RequestMap {
public:
    RequestMap(int64_t requests, int64_t context)
        : map_(at::zeros({requests, context}, at::TensorOptions().device(at::kCUDA).dtype(at::kLong))) {}

    void assign(int64_t row, int64_t firstSlot) {
        auto target = map_.select(0, row);
        target.copy_(at::arange(firstSlot, firstSlot + map_.size(1), map_.options()));
    }

    at::Tensor slots(const at::Tensor& rows) const { return map_.index_select(0, rows).flatten(); }

private:
    at::Tensor map_;
};

class Model {
public:
    Model(int64_t cacheRows, int64_t dim)
        : cache_(at::zeros({cacheRows, dim}, at::TensorOptions().device(at::kCUDA))) {}

    at::Tensor forward(const RequestMap& map, const Batch& batch) {
        auto index = map.slots(batch.rows);
        auto keys = cache_.index_select(0, index);
        return keys.sum(0);
    }

private:
    at::Tensor cache_;
};

class OverlapScheduler {
public:
    OverlapScheduler(int64_t requests, int64_t context)
        : requests_(requests),
          context_(context),
          schedule_(c10::cuda::getStreamFromPool(true)),
          forward_(c10::cuda::getStreamFromPool()),
          map_(requests, context),
          model_(requests * context, 128) {
        c10::cuda::getCurrentCUDAStream().synchronize();
    }

    void loop(int steps) {
        for (int step = 0; step < steps; ++step) {
            Batch batch = plan(step);
            execute(batch);
            inFlight_.push_back(std::move(batch));
        }
        schedule_.synchronize();
        forward_.synchronize();
        inFlight_.clear();
        outputs_.clear();
    }

private:
    Batch plan(int step) {
        c10::cuda::CUDAStreamGuard guard(schedule_);
        forwarded_.block(schedule_);
        Batch batch;
        batch.first = step % requests_;
        map_.assign(batch.first, (step % requests_) * context_);
        batch.rows = at::full({1}, batch.first, at::TensorOptions().device(at::kCUDA).dtype(at::kLong));
        planned_.record(schedule_);
        return batch;
    }

    void execute(const Batch& batch) {
        c10::cuda::CUDAStreamGuard guard(forward_);
        planned_.block(forward_);
        outputs_.push_back(model_.forward(map_, batch));
        forwarded_.record(forward_);
    }

    int64_t requests_, context_;
    c10::cuda::CUDAStream schedule_, forward_;
    at::cuda::CUDAEvent planned_, forwarded_;
    RequestMap map_;
    Model model_;
    std::vector<Batch> inFlight_;
    std::vector<at::Tensor> outputs_;
};

}  // namespace serve

int main() {
    serve::OverlapScheduler scheduler(16, 2048);
    scheduler.loop(64);
    return 0;
}
