#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace q8 {

inline void expect(cudaError_t rc) {
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Shape {
    int rows;
    int cols;
};

template <int Threads>
__global__ void rowMax(const float* x, float* amax, Shape s) {
    __shared__ float best[Threads];
    cudaGridDependencySynchronize();
    float m = 0.f;
    for (int c = threadIdx.x; c < s.cols; c += Threads) m = fmaxf(m, fabsf(x[blockIdx.x * s.cols + c]));
    best[threadIdx.x] = m;
    __syncthreads();
    for (int half = Threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + half]);
        __syncthreads();
    }
    cudaTriggerProgrammaticLaunchCompletion();
    if (threadIdx.x == 0) amax[blockIdx.x] = best[0];
}

template <int Threads>
__global__ void quantise(const float* x, const float* amax, int8_t* out, Shape s) {
    const float scale = 127.f / fmaxf(amax[blockIdx.x], 1e-6f);
    for (int c = threadIdx.x; c < s.cols; c += Threads) {
        const int at = blockIdx.x * s.cols + c;
        out[at] = static_cast<int8_t>(rintf(x[at] * scale));
    }
}

class Launcher {
public:
    Launcher(cudaStream_t stream, bool overlap) {
        attr_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attr_.val.programmaticStreamSerializationAllowed = 1;
        config_.stream = stream;
        config_.attrs = &attr_;
        config_.numAttrs = overlap ? 1 : 0;
    }
    Launcher(const Launcher&) = delete;

    template <typename... P, typename... A>
    void operator()(void (*kernel)(P...), int blocks, int threads, A... args) {
        config_.gridDim = dim3(blocks);
        config_.blockDim = dim3(threads);
        expect(cudaLaunchKernelEx(&config_, kernel, P(args)...));
    }

private:
    cudaLaunchAttribute attr_{};
    cudaLaunchConfig_t config_{};
};

class Quantiser {
public:
    Quantiser(Shape s, cudaStream_t stream) : shape_(s), launch_(stream, true) { expect(cudaMalloc(&amax_, s.rows * sizeof(float))); }
    ~Quantiser() { cudaFree(amax_); }
    void run(const float* x, int8_t* out) {
        scales(x);
        pack(x, out);
    }

private:
    void scales(const float* x) { launch_(rowMax<128>, shape_.rows, 128, x, amax_, shape_); }
    void pack(const float* x, int8_t* out) { launch_(quantise<128>, shape_.rows, 128, x, amax_, out, shape_); }

    Shape shape_;
    Launcher launch_;
    float* amax_ = nullptr;
};

}  // namespace q8

int main() {
    const q8::Shape shape{2048, 4096};
    cudaStream_t stream;
    q8::expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float* x = nullptr;
    int8_t* out = nullptr;
    q8::expect(cudaMalloc(&x, sizeof(float) * shape.rows * shape.cols));
    q8::expect(cudaMalloc(&out, sizeof(int8_t) * shape.rows * shape.cols));
    q8::expect(cudaMemsetAsync(x, 0, sizeof(float) * shape.rows * shape.cols, stream));
    {
        q8::Quantiser quantiser(shape, stream);
        for (int i = 0; i < 10; ++i) {
            quantiser.run(x, out);
            q8::expect(cudaStreamSynchronize(stream));
        }
    }
    cudaFree(out);
    cudaFree(x);
    cudaStreamDestroy(stream);
    return 0;
}
