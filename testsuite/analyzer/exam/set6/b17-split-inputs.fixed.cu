#include <cuda_runtime.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

namespace sched {

template <typename... A>
[[noreturn]] void die(A&&... a) {
    (std::cerr << ... << a) << '\n';
    std::exit(1);
}

#define SCHED_CHECK(e)                                                                  \
    if (auto rc__ = (e); rc__ != cudaSuccess) ::sched::die(__FILE__, ":", __LINE__, " ", cudaGetErrorString(rc__))

__global__ void scatterRows(const float* in, float* cache, int width, int row) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width) cache[static_cast<size_t>(row) * width + i] = in[i];
}

struct Input {
    float* staging = nullptr;
    float* device = nullptr;
    size_t bytes = 0;
};

class Backend {
public:
    explicit Backend(int id) : id_(id) { SCHED_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Backend() { cudaStreamDestroy(stream_); }
    Backend(const Backend&) = delete;
    int id() const { return id_; }
    cudaStream_t stream() const { return stream_; }

private:
    int id_;
    cudaStream_t stream_{};
};

class Split {
public:
    Split(Backend& backend, int width) : backend_(backend), width_(width) {
        input_.bytes = width * sizeof(float);
        SCHED_CHECK(cudaMallocHost(&input_.staging, input_.bytes));
        SCHED_CHECK(cudaMalloc(&input_.device, input_.bytes));
        SCHED_CHECK(cudaMalloc(&cache_, 4096 * input_.bytes));
        SCHED_CHECK(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    }
    ~Split() {
        cudaStreamSynchronize(backend_.stream());
        cudaEventDestroy(uploaded_);
        cudaFree(cache_);
        cudaFree(input_.device);
        cudaFreeHost(input_.staging);
    }

    void run(const std::vector<float>& values, int row, int previousBackend) {
        copyInputs(values, previousBackend);
        scatterRows<<<(width_ + 127) / 128, 128, 0, backend_.stream()>>>(input_.device, cache_, width_, row);
    }
    int backendId() const { return backend_.id(); }

private:
    void copyInputs(const std::vector<float>& values, int previousBackend) {
        if (previousBackend >= 0) SCHED_CHECK(cudaEventSynchronize(uploaded_));
        std::memcpy(input_.staging, values.data(), input_.bytes);
        upload();
    }

    void upload() {
        SCHED_CHECK(cudaMemcpyAsync(input_.device, input_.staging, input_.bytes, cudaMemcpyHostToDevice, backend_.stream()));
        SCHED_CHECK(cudaEventRecord(uploaded_, backend_.stream()));
    }

    Backend& backend_;
    int width_;
    Input input_;
    float* cache_ = nullptr;
    cudaEvent_t uploaded_{};
};

class Scheduler {
public:
    Scheduler(int splits, int width) : width_(width) {
        backends_.push_back(std::make_unique<Backend>(0));
        for (int i = 0; i < splits; ++i) splits_.push_back(std::make_unique<Split>(*backends_.front(), width));
    }
    void compute(int row) {
        for (auto& s : splits_) {
            std::vector<float> values(width_, static_cast<float>(row));
            s->run(values, row, last_);
            last_ = s->backendId();
        }
    }

private:
    int width_;
    int last_ = -1;
    std::vector<std::unique_ptr<Backend>> backends_;
    std::vector<std::unique_ptr<Split>> splits_;
};

}  // namespace sched

int main() {
    sched::Scheduler s(3, 8192);
    for (int row = 0; row < 2048; ++row) s.compute(row);
    return 0;
}
