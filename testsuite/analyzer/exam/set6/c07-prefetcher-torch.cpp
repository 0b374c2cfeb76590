#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <utility>
#include <vector>

namespace data {

struct Sample {
    at::Tensor image;
    at::Tensor label;
};

class HostSource {
public:
    explicit HostSource(int64_t batch) : batch_(batch) {}
    Sample next() const {
        auto pinned = at::TensorOptions().pinned_memory(true);
        Sample s;
        s.image = at::empty({batch_, 3, 64, 64}, pinned.dtype(at::kFloat)).fill_(0.5);
        s.label = at::empty({batch_}, pinned.dtype(at::kLong)).fill_(1);
        return s;
    }

private:
    int64_t batch_;
};

class DevicePrefetcher {
public:
    explicit DevicePrefetcher(const HostSource& source) : source_(source), load_(c10::cuda::getStreamFromPool()) { preload(); }

    Sample take() {
        const auto consumer = c10::cuda::getCurrentCUDAStream();
        loaded_.block(consumer);
        Sample ready = std::move(*next_);
        claim(ready.image, consumer);
        claim(ready.label, consumer);
        preload();
        return ready;
    }

private:
    static void claim(const at::Tensor& t, c10::cuda::CUDAStream consumer) { t.record_stream(consumer); }

    void preload() {
        Sample host = source_.next();
        c10::cuda::CUDAStreamGuard guard(load_);
        next_.emplace();
        next_->image = host.image.to(at::kCUDA, /*non_blocking=*/true).sub_(0.5);
        next_->label = host.label.to(at::kCUDA, /*non_blocking=*/true);
        loaded_.record(load_);
    }

    const HostSource& source_;
    c10::cuda::CUDAStream load_;
    at::cuda::CUDAEvent loaded_;
    std::optional<Sample> next_;
};

class LinearProbe {
public:
    LinearProbe() : weight_(at::zeros({3 * 64 * 64, 10}, at::TensorOptions().device(at::kCUDA))) {}
    at::Tensor loss(const Sample& s) const {
        auto logits = at::matmul(s.image.flatten(1), weight_);
        auto picked = at::log_softmax(logits, 1).gather(1, s.label.unsqueeze(1));
        return picked.mean().neg();
    }

private:
    at::Tensor weight_;
};

}  // namespace data

int main() {
    data::HostSource source(128);
    data::DevicePrefetcher prefetcher(source);
    data::LinearProbe probe;
    double sum = 0;
    std::vector<at::Tensor> losses;
    for (int i = 0; i < 50; ++i) {
        auto sample = prefetcher.take();
        losses.push_back(probe.loss(sample));
    }
    for (const auto& l : losses) sum += l.item<double>();
    c10::cuda::device_synchronize();
    return sum >= 0 ? 0 : 1;
}
