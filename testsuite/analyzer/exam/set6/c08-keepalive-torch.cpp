#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace ckpt {

class PendingCopy {
public:
    PendingCopy(at::Tensor device, at::Tensor host, c10::cuda::CUDAStream stream)
        : device_(std::move(device)), host_(std::move(host)) {
        done_.record(stream);
    }
    bool ready() const { return done_.query(); }
    at::Tensor finish() {
        done_.synchronize();
        device_.reset();
        return host_;
    }

private:
    at::Tensor device_;
    at::Tensor host_;
    at::cuda::CUDAEvent done_;
};

class CheckpointWriter {
public:
    CheckpointWriter() : copy_(c10::cuda::getStreamFromPool()) {}

    void enqueue(at::Tensor snapshot) {
        at::cuda::CUDAEvent produced;
        produced.record(c10::cuda::getCurrentCUDAStream());
        produced.block(copy_);
        auto host = at::empty(snapshot.sizes(), snapshot.options().device(at::kCPU).pinned_memory(true));
        {
            c10::cuda::CUDAStreamGuard guard(copy_);
            host.copy_(snapshot, /*non_blocking=*/true);
        }
        pending_.push_back(std::make_unique<PendingCopy>(std::move(snapshot), std::move(host), copy_));
    }

    double drain(bool all) {
        double checksum = 0;
        while (!pending_.empty() && (all || pending_.front()->ready())) {
            at::Tensor host = pending_.front()->finish();
            checksum += host.sum().item<double>();
            pending_.pop_front();
        }
        return checksum;
    }

private:
    c10::cuda::CUDAStream copy_;
    std::deque<std::unique_ptr<PendingCopy>> pending_;
};

class Trainer {
public:
    explicit Trainer(int64_t n) : weight_(at::randn({n, n}, at::TensorOptions().device(at::kCUDA))) {}
    void step() { weight_.mul_(0.999).add_(at::matmul(weight_, weight_), 1e-6); }
    at::Tensor snapshot() const { return weight_.clone(); }

private:
    at::Tensor weight_;
};

}  // namespace ckpt

int main() {
    ckpt::Trainer trainer(1024);
    ckpt::CheckpointWriter writer;
    double sum = 0;
    for (int i = 0; i < 100; ++i) {
        trainer.step();
        if (i % 10 == 0) writer.enqueue(trainer.snapshot());
        sum += writer.drain(false);
    }
    sum += writer.drain(true);
    return sum == sum ? 0 : 1;
}
