// Driver: spectra of two hydrophone arrays, one thread and one stream per array.
#include <cuda_runtime.h>
#include <cufft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define RT(x)                                                                   \
    do {                                                                        \
        cudaError_t e_ = (x);                                                   \
        if (e_ != cudaSuccess) {                                                \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)
#define FFT(x)                                                                  \
    do {                                                                        \
        cufftResult r_ = (x);                                                   \
        if (r_ != CUFFT_SUCCESS) {                                              \
            std::fprintf(stderr, "%d: cufft error %d\n", __LINE__, int(r_));    \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

constexpr int kLength = 10007;  // samples per ping
constexpr int kChannels = 48;

// Large transforms want a lot of scratch memory, so it is not left to the library.
static void* fft_scratch(size_t bytes) {
    void* area = nullptr;
    RT(cudaMalloc(&area, bytes));
    return area;
}

__global__ void window(cufftComplex* x, int length, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    float w = 0.5f - 0.5f * cosf(6.2831853f * (i % length) / length);
    x[i].x *= w;
    x[i].y *= w;
}

__global__ void power(const cufftComplex* x, float* p, int length, int channels) {
    int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= length) return;
    float acc = 0.f;
    for (int c = 0; c < channels; ++c) {
        cufftComplex v = x[c * length + bin];
        acc += v.x * v.x + v.y * v.y;
    }
    p[bin] = acc / channels;
}

class ArraySpectrum {
public:
    ArraySpectrum() {
        RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        RT(cudaMalloc(&data_, sizeof(cufftComplex) * kLength * kChannels));
        RT(cudaMalloc(&power_, sizeof(float) * kLength));
        RT(cudaMallocHost(&host_, sizeof(cufftComplex) * kLength * kChannels));
        size_t bytes = 0;
        FFT(cufftCreate(&plan_));
        FFT(cufftSetAutoAllocation(plan_, 0));
        FFT(cufftMakePlan1d(plan_, kLength, CUFFT_C2C, kChannels, &bytes));
        scratch_ = fft_scratch(bytes);
        FFT(cufftSetWorkArea(plan_, scratch_));
        FFT(cufftSetStream(plan_, stream_));
    }
    ~ArraySpectrum() {
        cudaStreamSynchronize(stream_);
        cufftDestroy(plan_);
        cudaFree(scratch_);
        cudaFree(data_);
        cudaFree(power_);
        cudaFreeHost(host_);
        cudaStreamDestroy(stream_);
    }
    ArraySpectrum(const ArraySpectrum&) = delete;
    ArraySpectrum& operator=(const ArraySpectrum&) = delete;

    float peak(int ping, float tone) {
        for (int i = 0; i < kLength * kChannels; ++i) {
            host_[i].x = std::sin(tone * float(i % kLength) + float(ping));
            host_[i].y = 0.f;
        }
        RT(cudaMemcpyAsync(data_, host_, sizeof(cufftComplex) * kLength * kChannels,
                           cudaMemcpyHostToDevice, stream_));
        window<<<(kLength * kChannels + 255) / 256, 256, 0, stream_>>>(data_, kLength,
                                                                       kLength * kChannels);
        FFT(cufftExecC2C(plan_, data_, data_, CUFFT_FORWARD));
        power<<<(kLength + 255) / 256, 256, 0, stream_>>>(data_, power_, kLength, kChannels);
        RT(cudaGetLastError());
        std::vector<float> p(kLength);
        RT(cudaMemcpyAsync(p.data(), power_, sizeof(float) * kLength, cudaMemcpyDeviceToHost,
                           stream_));
        RT(cudaStreamSynchronize(stream_));
        int best = 1;
        for (int b = 2; b < kLength / 2; ++b) {
            if (p[b] > p[best]) best = b;
        }
        return 6.2831853f * best / kLength;
    }

private:
    cudaStream_t stream_ = nullptr;
    cufftHandle plan_ = 0;
    void* scratch_ = nullptr;
    cufftComplex* data_ = nullptr;
    float* power_ = nullptr;
    cufftComplex* host_ = nullptr;
};

static void listen(int array, int pings) {
    ArraySpectrum spectrum;
    int misses = 0;
    for (int p = 0; p < pings; ++p) {
        const float tone = 0.1f + 0.2f * array + 0.001f * p;
        if (std::fabs(spectrum.peak(p, tone) - tone) > 0.002f) ++misses;
    }
    std::printf("array %d: %d of %d pings off\n", array, misses, pings);
}

int main() {
    std::thread port([] { listen(0, 50); });
    std::thread starboard([] { listen(1, 50); });
    port.join();
    starboard.join();
    return 0;
}
