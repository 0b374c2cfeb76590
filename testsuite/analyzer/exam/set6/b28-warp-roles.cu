#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define OK(x)                                                                     \
    do {                                                                          \
        auto r = (x);                                                             \
        if (r != cudaSuccess) {                                                   \
            std::fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(r));   \
            std::exit(1);                                                         \
        }                                                                         \
    } while (0)

__device__ __forceinline__ void awaitPrimary() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void releaseDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

constexpr int kTile = 256;

__global__ void addBias(const float* in, const float* bias, float* hidden, float* residual, int width) {
    awaitPrimary();
    releaseDependents();
    const int i = blockIdx.x * kTile + threadIdx.x;
    hidden[i] = in[i] + bias[i % width];
    residual[i] = in[i] * 0.5f;
}

__device__ float loadResidual(const float* residual, int i) { return residual[i]; }

__global__ void normTile(const float* hidden, const float* residual, const float* gain, float* out) {
    __shared__ float tile[kTile];
    const int warp = threadIdx.x / 32;
    const int base = blockIdx.x * kTile;
    float keep[kTile / 32];
    if (warp == 0) {
        awaitPrimary();
        for (int i = threadIdx.x; i < kTile; i += 32) tile[i] = hidden[base + i];
    } else {
        for (int i = 0; i < kTile / 32; ++i) keep[i] = loadResidual(residual, base + i * 32 + threadIdx.x % 32);
    }
    __syncthreads();
    if (warp != 0) {
        for (int i = 0; i < kTile / 32; ++i) {
            const int at = i * 32 + threadIdx.x % 32;
            if (at % 3 == warp - 1) out[base + at] = (tile[at] + keep[i]) * gain[at];
        }
    }
}

template <typename... Formal, typename... Actual>
void launchOverlapped(void (*kernel)(Formal...), dim3 grid, dim3 block, cudaStream_t stream, Actual&&... actual) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, kernel, static_cast<Formal>(std::forward<Actual>(actual))...));
}

class NormBlock {
public:
    NormBlock(int tiles, int width, cudaStream_t stream) : tiles_(tiles), width_(width), stream_(stream) {
        const size_t bytes = sizeof(float) * tiles * kTile;
        for (float** p : {&hidden_, &residual_}) OK(cudaMalloc(p, bytes));
        OK(cudaMalloc(&bias_, width * sizeof(float)));
        OK(cudaMalloc(&gain_, kTile * sizeof(float)));
        OK(cudaMemsetAsync(bias_, 0, width * sizeof(float), stream_));
        OK(cudaMemsetAsync(gain_, 0, kTile * sizeof(float), stream_));
    }
    ~NormBlock() {
        cudaStreamSynchronize(stream_);
        for (float* p : {hidden_, residual_, bias_, gain_}) cudaFree(p);
    }
    void forward(const float* in, float* out) {
        launchOverlapped(addBias, tiles_, kTile, stream_, in, bias_, hidden_, residual_, width_);
        launchOverlapped(normTile, tiles_, 128, stream_, hidden_, residual_, gain_, out);
        OK(cudaGetLastError());
    }

private:
    int tiles_, width_;
    cudaStream_t stream_;
    float *hidden_ = nullptr, *residual_ = nullptr, *bias_ = nullptr, *gain_ = nullptr;
};

int main() {
    constexpr int kTiles = 512;
    cudaStream_t stream;
    float *in, *out;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&in, sizeof(float) * kTiles * kTile));
    OK(cudaMalloc(&out, sizeof(float) * kTiles * kTile));
    OK(cudaMemsetAsync(in, 0, sizeof(float) * kTiles * kTile, stream));
    {
        NormBlock block(kTiles, 1024, stream);
        for (int step = 0; step < 32; ++step) {
            block.forward(in, out);
            OK(cudaStreamSynchronize(stream));
        }
    }
    cudaFree(out);
    cudaFree(in);
    cudaStreamDestroy(stream);
    return 0;
}
