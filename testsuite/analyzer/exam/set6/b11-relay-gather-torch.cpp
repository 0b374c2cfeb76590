#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace overlap {

class TokenRelay {
public:
    explicit TokenRelay(int64_t requests)
        : last_(at::zeros({requests}, at::TensorOptions().device(at::kCUDA).dtype(at::kLong))) {}

    at::Tensor gather(const at::Tensor& index) const { return last_.index_select(0, index); }
    void stash(const at::Tensor& index, const at::Tensor& token) { last_.index_copy_(0, index, token); }

private:
    at::Tensor last_;
};

struct RunningSet {
    at::Tensor ids;
    at::Tensor alive;
};

class ForwardLoop {
public:
    ForwardLoop(int64_t requests, int64_t vocab)
        : schedule_(c10::cuda::getStreamFromPool(true)),
          forward_(c10::cuda::getStreamFromPool()),
          relay_(requests),
          embedding_(at::randn({vocab, 256}, at::TensorOptions().device(at::kCUDA))) {
        {
            c10::cuda::CUDAStreamGuard guard(schedule_);
            running_.ids = at::arange(requests, at::TensorOptions().device(at::kCUDA).dtype(at::kLong));
            running_.alive = at::ones_like(running_.ids);
        }
        c10::cuda::getCurrentCUDAStream().synchronize();
        schedule_.synchronize();
    }

    void step(int64_t shift) {
        at::Tensor index = mixIndices(shift);
        planned_.record(schedule_);
        forwardBatch(index);
    }

    void drain() {
        forward_.synchronize();
        schedule_.synchronize();
    }

private:
    at::Tensor mixIndices(int64_t shift) {
        c10::cuda::CUDAStreamGuard guard(schedule_);
        auto rotated = at::roll(running_.ids, {shift}, {0});
        return rotated.mul(running_.alive);
    }

    void forwardBatch(const at::Tensor& index) {
        planned_.block(forward_);
        c10::cuda::CUDAStreamGuard guard(forward_);
        auto tokens = relay_.gather(index);
        auto hidden = embedding_.index_select(0, tokens);
        auto next = hidden.argmax(-1);
        relay_.stash(index, next);
    }

    c10::cuda::CUDAStream schedule_, forward_;
    at::cuda::CUDAEvent planned_;
    RunningSet running_;
    TokenRelay relay_;
    at::Tensor embedding_;
};

}  // namespace overlap

int main() {
    overlap::ForwardLoop loop(512, 1024);
    for (int i = 0; i < 256; ++i) {
        loop.step(i % 7);
    }
    loop.drain();
    return 0;
}
