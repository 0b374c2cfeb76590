#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tape {

struct Op {
    std::function<at::Tensor(const at::Tensor&)> backward;
    c10::cuda::CUDAStream stream;
};

class RootEdge {
public:
    explicit RootEdge(at::Tensor gradient)
        : gradient_(std::move(gradient)),
          stream_(c10::cuda::getCurrentCUDAStream(gradient_.device().index())) {}

    const at::Tensor& gradient() const { return gradient_; }
    c10::cuda::CUDAStream stream() const { return stream_; }

private:
    at::Tensor gradient_;
    c10::cuda::CUDAStream stream_;
};

class Tape {
public:
    void push(std::function<at::Tensor(const at::Tensor&)> fn) {
        ops_.push_back({std::move(fn), c10::cuda::getCurrentCUDAStream()});
    }

    at::Tensor run(const RootEdge& root) {
        at::Tensor grad = root.gradient();
        c10::cuda::CUDAStream producer = root.stream();
        for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
            joinProducer(grad, producer, op->stream);
            c10::cuda::CUDAStreamGuard guard(op->stream);
            grad = op->backward(grad);
            producer = op->stream;
        }
        joinProducer(grad, producer, c10::cuda::getCurrentCUDAStream());
        return grad;
    }

private:
    static void joinProducer(const at::Tensor& grad, c10::cuda::CUDAStream producer, c10::cuda::CUDAStream consumer) {
        if (producer == consumer) return;
        at::cuda::CUDAEvent ready;
        ready.record(producer);
        ready.block(consumer);
        grad.record_stream(consumer);
    }

    std::vector<Op> ops_;
};

at::Tensor seedLike(const at::Tensor& loss, double scale) {
    auto seed = at::empty_like(loss);
    seed.fill_(scale);
    return seed;
}

at::Tensor scaledBackward(Tape& t, const at::Tensor& loss, c10::cuda::CUDAStream scaler) {
    std::optional<RootEdge> root;
    {
        c10::cuda::CUDAStreamGuard guard(scaler);
        root.emplace(seedLike(loss, 65536.0));
    }
    return t.run(*root);
}

}  // namespace tape

int main() {
    auto x = at::randn({1024, 256}, at::TensorOptions().device(at::kCUDA));
    auto w = at::randn({256, 64}, at::TensorOptions().device(at::kCUDA));
    auto worker = c10::cuda::getStreamFromPool();
    auto scaler = c10::cuda::getStreamFromPool();
    at::cuda::CUDAEvent inputs;
    inputs.record(c10::cuda::getCurrentCUDAStream());
    inputs.block(worker);
    inputs.block(scaler);

    tape::Tape t;
    at::Tensor y;
    {
        c10::cuda::CUDAStreamGuard guard(worker);
        y = at::matmul(x, w);
        t.push([w](const at::Tensor& g) { return at::matmul(g, w.t()); });
        t.push([y](const at::Tensor& g) { return g.mul(y.gt(0)); });
    }
    worker.synchronize();
    auto gx = tape::scaledBackward(t, y, scaler);
    c10::cuda::getCurrentCUDAStream().synchronize();
    return gx.defined() ? 0 : 1;
}
