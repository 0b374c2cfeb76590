// Polyphase resampling of multi-channel audio. The filter taps are made on the host, once per ratio.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#define GPU_OK(expr)                                                              \
    do {                                                                          \
        const cudaError_t status = (expr);                                        \
        if (status != cudaSuccess) {                                              \
            std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(status)); \
            std::abort();                                                         \
        }                                                                         \
    } while (0)

namespace resample {

constexpr int kTaps = 32;

struct Ratio {
    int up;
    int down;
    bool operator<(const Ratio& other) const
    {
        return std::pair<int, int>(up, down) < std::pair<int, int>(other.up, other.down);
    }
};

__global__ void polyphase(const float* in, float* out, const float* taps, int out_len, int in_len, int up, int down)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= out_len)
        return;
    const int phase = static_cast<int>((static_cast<long long>(i) * down) % up);
    const int start = static_cast<int>((static_cast<long long>(i) * down) / up);
    float sum = 0.f;
    for (int t = 0; t < kTaps; ++t) {
        const int k = start - kTaps / 2 + t;
        if (k >= 0 && k < in_len)
            sum += taps[phase * kTaps + t] * in[k];
    }
    out[i] = sum;
}

// Taps of one ratio, on the host (pinned) and on the device.
struct FilterBank {
    explicit FilterBank(int phases) : count(static_cast<size_t>(phases) * kTaps)
    {
        GPU_OK(cudaMallocHost(&host, count * sizeof(float)));
        GPU_OK(cudaMalloc(&device, count * sizeof(float)));
    }
    ~FilterBank()
    {
        cudaFree(device);
        cudaFreeHost(host);
    }
    FilterBank(const FilterBank&) = delete;
    FilterBank& operator=(const FilterBank&) = delete;

    size_t count;
    float* host = nullptr;
    float* device = nullptr;
};

void design_lowpass(FilterBank& bank, const Ratio& ratio)
{
    const double cutoff = 0.5 / (ratio.up > ratio.down ? ratio.up : ratio.down);
    for (int phase = 0; phase < ratio.up; ++phase) {
        for (int t = 0; t < kTaps; ++t) {
            const double x = (t - kTaps / 2) + static_cast<double>(phase) / ratio.up;
            const double arg = 2.0 * M_PI * cutoff * x * ratio.up;
            const double sinc = std::abs(arg) < 1e-9 ? 1.0 : std::sin(arg) / arg;
            const double window = 0.54 + 0.46 * std::cos(2.0 * M_PI * x / kTaps);
            bank.host[phase * kTaps + t] = static_cast<float>(sinc * window);
        }
    }
}

class Resampler {
public:
    Resampler() { GPU_OK(cudaStreamCreateWithFlags(&setup_, cudaStreamNonBlocking)); }
    Resampler(const Resampler&) = delete;
    Resampler& operator=(const Resampler&) = delete;

    ~Resampler()
    {
        GPU_OK(cudaDeviceSynchronize());
        banks_.clear();
        GPU_OK(cudaStreamDestroy(setup_));
    }

    // Queues one channel on the caller's stream.
    void run(const float* in, int in_len, float* out, int out_len, Ratio ratio, cudaStream_t stream)
    {
        const FilterBank& bank = bank_for(ratio);
        polyphase<<<(out_len + 255) / 256, 256, 0, stream>>>(in, out, bank.device, out_len, in_len, ratio.up,
                                                             ratio.down);
        GPU_OK(cudaGetLastError());
    }

private:
    const FilterBank& bank_for(const Ratio& ratio)
    {
        const auto found = banks_.find(ratio);
        if (found != banks_.end())
            return *found->second;
        auto bank = std::make_unique<FilterBank>(ratio.up);
        design_lowpass(*bank, ratio);
        GPU_OK(cudaMemcpyAsync(bank->device, bank->host, bank->count * sizeof(float), cudaMemcpyHostToDevice,
                               setup_));
        GPU_OK(cudaStreamSynchronize(setup_));
        return *banks_.emplace(ratio, std::move(bank)).first->second;
    }

    cudaStream_t setup_ = nullptr;
    std::map<Ratio, std::unique_ptr<FilterBank>> banks_;
};

// Stereo helper: both channels on their own streams. The caller waits for the streams.
void resample_stereo(Resampler& resampler, const float* const in[2], int in_len, float* const out[2], int out_len,
                     Ratio ratio, const cudaStream_t streams[2])
{
    for (int channel = 0; channel < 2; ++channel)
        resampler.run(in[channel], in_len, out[channel], out_len, ratio, streams[channel]);
}

}  // namespace resample
