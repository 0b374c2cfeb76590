#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spec {

struct StepPlan {
    std::vector<int32_t> draftLengths;
    int64_t total = 0;
};

class AcceptanceBuffer {
public:
    explicit AcceptanceBuffer(int64_t requests)
        : host_(at::zeros({requests}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))) {}

    void publish(const at::Tensor& accepted) {
        host_.copy_(accepted, /*non_blocking=*/true);
        copied_.record(c10::cuda::getCurrentCUDAStream());
    }

    const int32_t* view() {
        copied_.synchronize();
        return host_.data_ptr<int32_t>();
    }

    int64_t size() const { return host_.numel(); }

private:
    at::Tensor host_;
    at::cuda::CUDAEvent copied_;
};

class Verifier {
public:
    Verifier(int64_t requests, int64_t maxDraft)
        : scores_(at::rand({requests, maxDraft}, at::TensorOptions().device(at::kCUDA))) {}

    at::Tensor verify(const StepPlan& plan) {
        auto threshold = 1.0 / static_cast<double>(plan.total + 1);
        auto hits = scores_.gt(threshold);
        scores_.mul_(0.99);
        return hits.sum(1).to(at::kInt);
    }

private:
    at::Tensor scores_;
};

class SpeculativeRunner {
public:
    SpeculativeRunner(int64_t requests, int32_t maxDraft)
        : maxDraft_(maxDraft), accepted_(requests), verifier_(requests, maxDraft) {}

    void step() {
        StepPlan next = plan();
        auto counts = verifier_.verify(next);
        accepted_.publish(counts);
        ++steps_;
    }

private:
    StepPlan plan() {
        StepPlan p;
        p.draftLengths.resize(accepted_.size(), maxDraft_);
        if (steps_ > 0) {
            const int32_t* last = accepted_.view();
            for (size_t i = 0; i < p.draftLengths.size(); ++i) {
                p.draftLengths[i] = std::min<int32_t>(maxDraft_, last[i] + 1);
            }
        }
        for (auto d : p.draftLengths) p.total += d;
        return p;
    }

    int32_t maxDraft_;
    int64_t steps_ = 0;
    AcceptanceBuffer accepted_;
    Verifier verifier_;
};

}  // namespace spec

int main() {
    spec::SpeculativeRunner runner(64, 5);
    for (int i = 0; i < 128; ++i) runner.step();
    c10::cuda::getCurrentCUDAStream().synchronize();
    return 0;
}
