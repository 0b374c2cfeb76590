#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace tabular {

struct Weights {
    at::Tensor hidden;
    at::Tensor output;
};

class EstimatorWorker {
public:
    EstimatorWorker(c10::DeviceIndex device, Weights weights)
        : stream_(c10::cuda::getStreamFromPool(false, device)), weights_(std::move(weights)) {}

    at::Tensor predict(const at::Tensor& features) {
        const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
        ready_.record(caller);
        ready_.block(stream_);
        features.record_stream(stream_);
        at::Tensor logits;
        {
            c10::cuda::CUDAStreamGuard guard(stream_);
            logits = forward(features);
        }
        finished_.record(stream_);
        finished_.block(caller);
        logits.record_stream(caller);
        return logits;
    }

    c10::cuda::CUDAStream stream() const { return stream_; }

private:
    at::Tensor forward(const at::Tensor& x) const {
        auto h = at::relu(at::matmul(x, weights_.hidden));
        return at::softmax(at::matmul(h, weights_.output), -1);
    }

    c10::cuda::CUDAStream stream_;
    Weights weights_;
    at::cuda::CUDAEvent ready_;
    at::cuda::CUDAEvent finished_;
};

class EnsemblePredictor {
public:
    EnsemblePredictor(int members, int64_t inputs, int64_t hidden, int64_t classes) {
        const auto options = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);
        std::vector<Weights> weights;
        for (int m = 0; m < members; ++m) {
            weights.push_back({at::randn({inputs, hidden}, options), at::randn({hidden, classes}, options)});
        }
        c10::cuda::getCurrentCUDAStream().synchronize();
        for (auto& w : weights) {
            workers_.push_back(std::make_unique<EstimatorWorker>(c10::cuda::current_device(), std::move(w)));
        }
    }

    at::Tensor predict(const at::Tensor& features) {
        std::vector<at::Tensor> parts;
        parts.reserve(workers_.size());
        for (auto& worker : workers_) {
            parts.push_back(worker->predict(features));
        }
        return average(parts);
    }

private:
    static at::Tensor average(const std::vector<at::Tensor>& parts) {
        at::Tensor sum = at::zeros_like(parts.front());
        for (const auto& p : parts) {
            sum.add_(p);
        }
        return sum.div_(static_cast<double>(parts.size()));
    }

    std::vector<std::unique_ptr<EstimatorWorker>> workers_;
};

}  // namespace tabular

int main() {
    tabular::EnsemblePredictor ensemble(4, 64, 128, 10);
    auto features = at::randn({512, 64}, at::TensorOptions().device(at::kCUDA));
    for (int i = 0; i < 3; ++i) {
        auto probabilities = ensemble.predict(features);
        c10::cuda::getCurrentCUDAStream().synchronize();
    }
    return 0;
}
