#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#define ALIAS_OK(x)                                                       \
    do {                                                                  \
        cudaError_t a_ = (x);                                             \
        if (a_ != cudaSuccess) {                                          \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(a_));         \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

__global__ void makeNoise(float* x, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = ((i ^ seed) * 1103515245u >> 16) * 1e-5f;
}

__global__ void cumulate(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.9f * y[i] + 0.1f * x[i];
}

class Executor {
public:
    Executor() { ALIAS_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Executor() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    Executor(const Executor&) = delete;
    cudaStream_t producer() const { return stream_; }
    cudaStream_t consumer() const { return stream_; }

private:
    cudaStream_t stream_{};
};

class NoiseSource {
public:
    NoiseSource(cudaStream_t s, int n) : stream_(s), n_(n) { ALIAS_OK(cudaMalloc(&data_, n * sizeof(float))); }
    ~NoiseSource() {
        cudaStreamSynchronize(stream_);
        cudaFree(data_);
    }
    NoiseSource(const NoiseSource&) = delete;
    const float* next(unsigned seed) {
        makeNoise<<<(n_ + 255) / 256, 256, 0, stream_>>>(data_, n_, seed);
        return data_;
    }

private:
    cudaStream_t stream_;
    int n_;
    float* data_ = nullptr;
};

class MovingAverage {
public:
    MovingAverage(cudaStream_t s, int n) : stream_(s), n_(n) {
        ALIAS_OK(cudaMalloc(&mean_, n * sizeof(float)));
        ALIAS_OK(cudaMemsetAsync(mean_, 0, n * sizeof(float), stream_));
    }
    ~MovingAverage() {
        cudaStreamSynchronize(stream_);
        cudaFree(mean_);
    }
    MovingAverage(const MovingAverage&) = delete;
    void add(const float* sample) { cumulate<<<(n_ + 255) / 256, 256, 0, stream_>>>(sample, mean_, n_); }
    float at(int i) const {
        float v = 0.f;
        ALIAS_OK(cudaMemcpyAsync(&v, mean_ + i, sizeof(float), cudaMemcpyDeviceToHost, stream_));
        ALIAS_OK(cudaStreamSynchronize(stream_));
        return v;
    }

private:
    cudaStream_t stream_;
    int n_;
    float* mean_ = nullptr;
};

int main() {
    Executor executor;
    NoiseSource source(executor.producer(), 1 << 18);
    MovingAverage average(executor.consumer(), 1 << 18);
    for (unsigned s = 0; s < 64; ++s) average.add(source.next(s));
    std::printf("%f\n", average.at(17));
    return 0;
}
