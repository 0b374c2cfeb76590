#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define PDL_OK(x)                                                       \
    do {                                                                \
        cudaError_t rc = (x);                                           \
        if (rc != cudaSuccess) {                                        \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(rc));       \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

constexpr int kWidth = 256;

__global__ void dense(const float* __restrict__ weight, const float* in, float* out, int rows) {
    __shared__ float w[kWidth];
    w[threadIdx.x] = weight[threadIdx.x];
    __syncthreads();
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) out[r * kWidth + threadIdx.x] = in[r * kWidth + threadIdx.x] * w[threadIdx.x];
}

__global__ void relu(const float* in, float* out, int rows) {
    const int lane = threadIdx.x;
    cudaGridDependencySynchronize();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        const float v = in[r * kWidth + lane];
        out[r * kWidth + lane] = v > 0.f ? v : 0.f;
    }
    cudaTriggerProgrammaticLaunchCompletion();
}

class OverlapLauncher {
public:
    explicit OverlapLauncher(cudaStream_t s) : stream_(s) {}
    template <typename... P, typename... A>
    void launch(void (*kernel)(P...), int blocks, A&&... args) const {
        cudaLaunchAttribute attrs[1];
        attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attrs[0].val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t cfg{};
        cfg.gridDim = dim3(blocks);
        cfg.blockDim = dim3(kWidth);
        cfg.stream = stream_;
        cfg.attrs = attrs;
        cfg.numAttrs = 1;
        PDL_OK(cudaLaunchKernelEx(&cfg, kernel, static_cast<P>(std::forward<A>(args))...));
    }

private:
    cudaStream_t stream_;
};

class Mlp {
public:
    Mlp(int layers, int rows, cudaStream_t stream) : rows_(rows), stream_(stream), launcher_(stream) {
        std::vector<float> ones(kWidth, 1.01f);
        for (int l = 0; l < layers; ++l) {
            float* w = nullptr;
            PDL_OK(cudaMalloc(&w, kWidth * sizeof(float)));
            PDL_OK(cudaMemcpyAsync(w, ones.data(), kWidth * sizeof(float), cudaMemcpyHostToDevice, stream_));
            weights_.push_back(w);
        }
        for (float** p : {&a_, &b_}) PDL_OK(cudaMalloc(p, sizeof(float) * rows * kWidth));
        PDL_OK(cudaMemsetAsync(a_, 0, sizeof(float) * rows * kWidth, stream_));
        PDL_OK(cudaStreamSynchronize(stream_));
    }
    ~Mlp() {
        cudaStreamSynchronize(stream_);
        for (float* w : weights_) cudaFree(w);
        cudaFree(b_);
        cudaFree(a_);
    }
    void forward() {
        for (const float* w : weights_) {
            launcher_.launch(dense, 132, w, a_, b_, rows_);
            launcher_.launch(relu, 132, b_, a_, rows_);
        }
    }

private:
    int rows_;
    cudaStream_t stream_;
    OverlapLauncher launcher_;
    std::vector<float*> weights_;
    float *a_ = nullptr, *b_ = nullptr;
};

int main() {
    cudaStream_t stream;
    PDL_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    {
        Mlp mlp(8, 4096, stream);
        for (int i = 0; i < 10; ++i) mlp.forward();
    }
    PDL_OK(cudaStreamDestroy(stream));
    return 0;
}
