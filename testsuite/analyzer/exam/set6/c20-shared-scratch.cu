#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define SCRATCH_OK(x)                                                   \
    do {                                                                \
        cudaError_t so = (x);                                           \
        if (so != cudaSuccess) {                                        \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(so));       \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

__global__ void weigh(const float* shared, float* own, int n, float w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) own[i] = shared[i] * w;
}

class SharedScratch {
public:
    explicit SharedScratch(size_t bytes) : bytes_(bytes) {
        SCRATCH_OK(cudaMalloc(&data_, bytes));
        SCRATCH_OK(cudaEventCreateWithFlags(&released_, cudaEventDisableTiming));
    }
    ~SharedScratch() {
        cudaEventDestroy(released_);
        cudaFree(data_);
    }
    SharedScratch(const SharedScratch&) = delete;

    class Hold {
    public:
        Hold(SharedScratch& s, cudaStream_t stream) : s_(s), stream_(stream) { SCRATCH_OK(cudaStreamWaitEvent(stream, s.released_, 0)); }
        ~Hold() { cudaEventRecord(s_.released_, stream_); }
        Hold(const Hold&) = delete;
        void* data() const { return s_.data_; }
        size_t& bytes() const { return s_.bytes_; }

    private:
        SharedScratch& s_;
        cudaStream_t stream_;
    };

private:
    size_t bytes_;
    void* data_ = nullptr;
    cudaEvent_t released_{};
};

class Metric {
public:
    Metric(int n, float weight) : n_(n), weight_(weight) {
        SCRATCH_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        SCRATCH_OK(cudaMalloc(&own_, n * sizeof(float)));
        SCRATCH_OK(cudaMalloc(&sum_, sizeof(float)));
        SCRATCH_OK(cudaMallocHost(&host_, sizeof(float)));
    }
    ~Metric() {
        cudaStreamSynchronize(stream_);
        cudaFreeHost(host_);
        cudaFree(sum_);
        cudaFree(own_);
        cudaStreamDestroy(stream_);
    }
    Metric(const Metric&) = delete;

    void start(const float* features, cudaEvent_t ready, SharedScratch& scratch) {
        SCRATCH_OK(cudaStreamWaitEvent(stream_, ready, 0));
        weigh<<<(n_ + 255) / 256, 256, 0, stream_>>>(features, own_, n_, weight_);
        {
            SharedScratch::Hold hold(scratch, stream_);
            SCRATCH_OK(cub::DeviceReduce::Sum(hold.data(), hold.bytes(), own_, sum_, n_, stream_));
        }
        SCRATCH_OK(cudaMemcpyAsync(host_, sum_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    }
    float value() const {
        SCRATCH_OK(cudaStreamSynchronize(stream_));
        return *host_;
    }

private:
    int n_;
    float weight_;
    cudaStream_t stream_{};
    float *own_ = nullptr, *sum_ = nullptr, *host_ = nullptr;
};

int main() {
    constexpr int kFeatures = 1 << 20;
    float* features = nullptr;
    cudaStream_t loader;
    cudaEvent_t ready;
    SCRATCH_OK(cudaStreamCreateWithFlags(&loader, cudaStreamNonBlocking));
    SCRATCH_OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    SCRATCH_OK(cudaMalloc(&features, kFeatures * sizeof(float)));
    size_t need = 0;
    SCRATCH_OK(cub::DeviceReduce::Sum(nullptr, need, features, features, kFeatures, loader));
    {
        SharedScratch scratch(need);
        std::vector<std::unique_ptr<Metric>> metrics;
        for (int m = 0; m < 5; ++m) metrics.push_back(std::make_unique<Metric>(kFeatures, 0.1f * m));
        float sum = 0.f;
        for (int epoch = 0; epoch < 10; ++epoch) {
            SCRATCH_OK(cudaMemsetAsync(features, epoch, kFeatures * sizeof(float), loader));
            SCRATCH_OK(cudaEventRecord(ready, loader));
            for (auto& m : metrics) m->start(features, ready, scratch);
            for (auto& m : metrics) sum += m->value();
        }
        std::printf("%f\n", sum);
    }
    cudaFree(features);
    cudaEventDestroy(ready);
    cudaStreamDestroy(loader);
    return 0;
}
