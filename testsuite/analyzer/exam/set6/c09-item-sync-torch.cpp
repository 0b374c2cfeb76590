#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace beam {

class HostMirror {
public:
    explicit HostMirror(int64_t n) : host_(at::zeros({n}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true))) {}
    void fetch(const at::Tensor& device) { host_.copy_(device, /*non_blocking=*/true); }
    float best() const {
        const float* p = host_.data_ptr<float>();
        return *std::max_element(p, p + host_.numel());
    }

private:
    at::Tensor host_;
};

class BeamSearch {
public:
    BeamSearch(int64_t width, int64_t vocab)
        : scores_(at::zeros({width}, at::TensorOptions().device(at::kCUDA))),
          table_(at::rand({vocab, vocab}, at::TensorOptions().device(at::kCUDA))),
          state_(at::zeros({width}, at::TensorOptions().device(at::kCUDA).dtype(at::kLong))),
          mirror_(width) {}

    float run(int maxSteps) {
        float best = 0;
        for (int s = 0; s < maxSteps; ++s) {
            advance();
            mirror_.fetch(scores_);
            const bool stop = finished();
            best = mirror_.best();
            if (stop) break;
        }
        return best;
    }

private:
    void advance() {
        auto rows = table_.index_select(0, state_);
        auto [value, index] = rows.max(1);
        scores_.add_(value.log());
        state_.copy_(index);
    }

    bool finished() const { return state_.eq(0).all().item<bool>(); }

    at::Tensor scores_, table_, state_;
    HostMirror mirror_;
};

}  // namespace beam

int main() {
    auto stream = c10::cuda::getStreamFromPool();
    c10::cuda::CUDAStreamGuard guard(stream);
    beam::BeamSearch search(8, 512);
    const float best = search.run(64);
    stream.synchronize();
    return best <= 0 ? 0 : 1;
}
