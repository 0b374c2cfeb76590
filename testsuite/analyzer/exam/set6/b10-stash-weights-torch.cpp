#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace embed {

struct Shard {
    std::string name;
    at::Tensor weight;
};

class HostStash {
public:
    HostStash() : d2h_(c10::cuda::getStreamFromPool()) {}

    void stash(Shard& shard) {
        at::Tensor host = at::empty(shard.weight.sizes(), shard.weight.options().device(at::kCPU).pinned_memory(true));
        copyOut(host, shard.weight);
        shards_[shard.name] = std::move(host);
        drop(shard);
    }

    void restore(Shard& shard) {
        done_.synchronize();
        const at::Tensor& host = shards_.at(shard.name);
        shard.weight.set_data(host.to(at::kCUDA));
    }

private:
    void copyOut(at::Tensor& host, const at::Tensor& device) {
        at::cuda::CUDAEvent trained;
        trained.record(c10::cuda::getCurrentCUDAStream());
        trained.block(d2h_);
        c10::cuda::CUDAStreamGuard guard(d2h_);
        host.copy_(device, /*non_blocking=*/true);
        done_.record(d2h_);
    }

    static void drop(Shard& shard) {
        shard.weight.set_data(at::empty({0}, shard.weight.options()));
    }

    c10::cuda::CUDAStream d2h_;
    at::cuda::CUDAEvent done_;
    std::map<std::string, at::Tensor> shards_;
};

class DenseTower {
public:
    explicit DenseTower(int64_t width) : w_(at::randn({width, width}, at::TensorOptions().device(at::kCUDA))) {}

    at::Tensor run(const at::Tensor& x) const {
        auto h = at::matmul(x, w_);
        return at::relu(h);
    }

private:
    at::Tensor w_;
};

class Session {
public:
    Session(int shards, int64_t rows, int64_t dim) : tower_(dim) {
        for (int i = 0; i < shards; ++i) {
            shards_.push_back({"table" + std::to_string(i), at::randn({rows, dim}, at::TensorOptions().device(at::kCUDA))});
        }
    }

    at::Tensor denseWindow(const at::Tensor& x) {
        for (auto& s : shards_) stash_.stash(s);
        auto y = tower_.run(x);
        for (auto& s : shards_) stash_.restore(s);
        return y;
    }

private:
    std::vector<Shard> shards_;
    DenseTower tower_;
    HostStash stash_;
};

}  // namespace embed

int main() {
    embed::Session session(4, 4096, 512);
    auto x = at::randn({4096, 512}, at::TensorOptions().device(at::kCUDA));
    for (int i = 0; i < 5; ++i) {
        x = session.denseWindow(x);
    }
    c10::cuda::getCurrentCUDAStream().synchronize();
    return 0;
}
