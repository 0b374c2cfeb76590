#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace decode {

at::TensorOptions floats() { return at::TensorOptions().device(at::kCUDA).dtype(at::kFloat); }

class Attention {
public:
    explicit Attention(int64_t dim) : q_(at::randn({dim, dim}, floats())), k_(at::randn({dim, dim}, floats())) {}

    void run(const at::Tensor& x, at::Tensor scratch, at::Tensor& out) const {
        auto partial = scratch.narrow(0, 0, x.size(0));
        at::matmul_out(partial, x, q_);
        at::matmul_out(out, partial, k_);
    }

private:
    at::Tensor q_, k_;
};

class GraphDecoder {
public:
    GraphDecoder(int64_t batch, int64_t dim)
        : dim_(dim),
          stream_(c10::cuda::getStreamFromPool()),
          attention_(dim),
          input_(at::zeros({batch, dim}, floats())),
          output_(at::zeros({batch, dim}, floats())) {
        c10::cuda::getCurrentCUDAStream().synchronize();
        c10::cuda::CUDAStreamGuard guard(stream_);
        ensureWorkspace(batch);
        stream_.synchronize();
    }

    ~GraphDecoder() { stream_.synchronize(); }

    at::Tensor decode(const at::Tensor& hidden) {
        c10::cuda::CUDAStreamGuard guard(stream_);
        input_.copy_(hidden);
        if (!graph_) capture();
        graph_->replay();
        auto result = output_.clone();
        stream_.synchronize();
        return result;
    }

    at::Tensor prefill(const at::Tensor& prompt) {
        c10::cuda::CUDAStreamGuard guard(stream_);
        ensureWorkspace(prompt.size(0));
        auto out = at::empty_like(prompt);
        attention_.run(prompt, workspace_, out);
        stream_.synchronize();
        return out;
    }

private:
    void capture() {
        attention_.run(input_, workspace_, output_);
        stream_.synchronize();
        graph_ = std::make_unique<at::cuda::CUDAGraph>();
        graph_->capture_begin();
        attention_.run(input_, workspace_, output_);
        graph_->capture_end();
    }

    void ensureWorkspace(int64_t rows) {
        if (workspace_.defined() && workspace_.size(0) >= rows) return;
        stream_.synchronize();
        graph_.reset();
        workspace_ = at::empty({rows, dim_}, floats());
    }

    int64_t dim_;
    c10::cuda::CUDAStream stream_;
    Attention attention_;
    at::Tensor input_, output_, workspace_;
    std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace decode

int main() {
    const int64_t dim = 1024;
    decode::GraphDecoder decoder(16, dim);
    auto hidden = at::randn({16, dim}, decode::floats());
    auto prompt = at::randn({512, dim}, decode::floats());
    c10::cuda::getCurrentCUDAStream().synchronize();
    for (int i = 0; i < 32; ++i) {
        hidden = decoder.decode(hidden);
        if (i == 7) decoder.prefill(prompt);
    }
    return 0;
}
