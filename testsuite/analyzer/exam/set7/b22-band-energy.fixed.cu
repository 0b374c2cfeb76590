// Band energies of audio blocks, for the beat tracker.
#include <cuda_runtime.h>
#include <cufft.h>

#include <map>
#include <stdexcept>
#include <string>

namespace beat {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

inline void check(cufftResult rc, const char* what)
{
    if (rc != CUFFT_SUCCESS)
        throw std::runtime_error(std::string(what) + ": cufft error " + std::to_string(static_cast<int>(rc)));
}

__global__ void apply_window(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * (0.5f - 0.5f * cosf(6.2831853f * i / (n - 1)));
}

__global__ void sum_bands(const cufftComplex* spectrum, float* bands, int bins, int per_band)
{
    const int band = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = band * per_band;
    if (first >= bins)
        return;
    const int last = min(first + per_band, bins);
    float sum = 0.f;
    for (int k = first; k < last; ++k)
        sum += spectrum[k].x * spectrum[k].x + spectrum[k].y * spectrum[k].y;
    bands[band] = sum;
}

// One analyser per input channel. submit() and collect() alternate.
class BandAnalyser {
public:
    BandAnalyser(int max_block, int bands) : max_block_(max_block), bands_(bands)
    {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        check(cudaMalloc(&raw_, sizeof(float) * max_block), "raw");
        check(cudaMalloc(&windowed_, sizeof(float) * max_block), "windowed");
        check(cudaMalloc(&spectrum_, sizeof(cufftComplex) * (max_block / 2 + 1)), "spectrum");
        check(cudaMalloc(&device_bands_, sizeof(float) * bands), "bands");
        check(cudaMallocHost(&host_bands_, sizeof(float) * bands), "host bands");
    }

    BandAnalyser(const BandAnalyser&) = delete;
    BandAnalyser& operator=(const BandAnalyser&) = delete;

    ~BandAnalyser()
    {
        cudaDeviceSynchronize();
        for (const auto& entry : plans_)
            cufftDestroy(entry.second);
        cudaFree(raw_);
        cudaFree(windowed_);
        cudaFree(spectrum_);
        cudaFree(device_bands_);
        cudaFreeHost(host_bands_);
        cudaStreamDestroy(stream_);
    }

    // `samples` must stay untouched until collect() returns.
    void submit(const float* samples, int n)
    {
        if (n > max_block_)
            throw std::invalid_argument("block too long");
        check(cudaMemcpyAsync(raw_, samples, sizeof(float) * n, cudaMemcpyHostToDevice, stream_), "upload");
        apply_window<<<(n + 255) / 256, 256, 0, stream_>>>(raw_, windowed_, n);
        transform(n);
        const int bins = n / 2 + 1;
        const int per_band = (bins + bands_ - 1) / bands_;
        check(cudaMemsetAsync(device_bands_, 0, sizeof(float) * bands_, stream_), "clear");
        sum_bands<<<(bands_ + 63) / 64, 64, 0, stream_>>>(spectrum_, device_bands_, bins, per_band);
        check(cudaMemcpyAsync(host_bands_, device_bands_, sizeof(float) * bands_, cudaMemcpyDeviceToHost,
                              stream_),
              "download");
    }

    const float* collect()
    {
        check(cudaStreamSynchronize(stream_), "collect");
        return host_bands_;
    }

private:
    cufftHandle plan_for(int n)
    {
        const auto found = plans_.find(n);
        if (found != plans_.end())
            return found->second;
        cufftHandle plan;
        check(cufftPlan1d(&plan, n, CUFFT_R2C, 1), "plan");
        check(cufftSetStream(plan, stream_), "plan stream");
        plans_.emplace(n, plan);
        return plan;
    }

    void transform(int n)
    {
        const cufftHandle plan = plan_for(n);
        check(cufftExecR2C(plan, windowed_, spectrum_), "transform");
    }

    int max_block_;
    int bands_;
    cudaStream_t stream_ = nullptr;
    std::map<int, cufftHandle> plans_;
    float* raw_ = nullptr;
    float* windowed_ = nullptr;
    cufftComplex* spectrum_ = nullptr;
    float* device_bands_ = nullptr;
    float* host_bands_ = nullptr;
};

float loudest_band(BandAnalyser& analyser, const float* samples, int n, int bands)
{
    analyser.submit(samples, n);
    const float* energy = analyser.collect();
    float best = 0.f;
    for (int b = 0; b < bands; ++b)
        best = energy[b] > best ? energy[b] : best;
    return best;
}

}  // namespace beat
