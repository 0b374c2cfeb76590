#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define GPU_OK(expr)                                                                      \
    do {                                                                                  \
        cudaError_t rc_ = (expr);                                                         \
        if (rc_ != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); \
            std::abort();                                                                 \
        }                                                                                 \
    } while (0)

#define FFT_OK(expr)                                                  \
    do {                                                              \
        if ((expr) != CUFFT_SUCCESS) {                                \
            std::fprintf(stderr, "cufft failed at %d\n", __LINE__);   \
            std::abort();                                             \
        }                                                             \
    } while (0)

__global__ void addPower(const cufftComplex* spec, float* power, int bins) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < bins) power[b] += spec[b].x * spec[b].x + spec[b].y * spec[b].y;
}

class SpectrumAverager {
public:
    explicit SpectrumAverager(int length) : length_(length), bins_(length / 2 + 1) {
        GPU_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        GPU_OK(cudaMalloc(&frame_, length_ * sizeof(float)));
        GPU_OK(cudaMalloc(&spec_, bins_ * sizeof(cufftComplex)));
        GPU_OK(cudaMalloc(&power_, bins_ * sizeof(float)));
        GPU_OK(cudaMallocHost(&staging_, length_ * sizeof(float)));
        FFT_OK(cufftPlan1d(&plan_, length_, CUFFT_R2C, 1));
        FFT_OK(cufftSetStream(plan_, stream_));
        GPU_OK(cudaMemsetAsync(power_, 0, bins_ * sizeof(float), stream_));
    }

    ~SpectrumAverager() {
        cudaStreamSynchronize(stream_);
        cufftDestroy(plan_);
        cudaFreeHost(staging_);
        cudaFree(power_);
        cudaFree(spec_);
        cudaFree(frame_);
        cudaStreamDestroy(stream_);
    }

    void push(const float* samples) {
        GPU_OK(cudaStreamSynchronize(stream_));
        std::memcpy(staging_, samples, length_ * sizeof(float));
        GPU_OK(cudaMemcpyAsync(frame_, staging_, length_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
        FFT_OK(cufftExecR2C(plan_, frame_, spec_));
        addPower<<<(bins_ + 127) / 128, 128, 0, stream_>>>(spec_, power_, bins_);
        ++count_;
    }

    void reset() {
        GPU_OK(cudaMemset(power_, 0, bins_ * sizeof(float)));
        count_ = 0;
    }

    std::vector<float> average() {
        std::vector<float> out(bins_);
        GPU_OK(cudaMemcpyAsync(out.data(), power_, bins_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
        GPU_OK(cudaStreamSynchronize(stream_));
        for (float& v : out) v /= count_ > 0 ? static_cast<float>(count_) : 1.0f;
        return out;
    }

private:
    int length_, bins_, count_ = 0;
    cudaStream_t stream_{};
    cufftHandle plan_{};
    float* frame_ = nullptr;
    float* power_ = nullptr;
    float* staging_ = nullptr;
    cufftComplex* spec_ = nullptr;
};

int main() {
    constexpr int kLength = 4096;
    SpectrumAverager avg(kLength);
    std::vector<float> samples(kLength, 0.25f);
    for (int window = 0; window < 8; ++window) {
        for (int i = 0; i < 16; ++i) avg.push(samples.data());
        if (window == 3) {
            avg.reset();
            continue;
        }
        if (window % 4 == 1) std::printf("%f\n", avg.average()[0]);
    }
    return 0;
}
