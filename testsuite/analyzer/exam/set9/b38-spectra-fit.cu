// Least-squares fit of Raman spectra with a bank of reference spectra.
//
// Several instruments share the device; each has its own Fitter and all of them are driven from
// one acquisition loop.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace raman {

inline void check(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void gradient_step(const float* bank, const float* spectrum, float* weights,
                              float* residual, int refs, int bins, float rate) {
    __shared__ float partial[256];
    const int r = blockIdx.x;
    float acc = 0.f;
    for (int b = threadIdx.x; b < bins; b += blockDim.x) acc += bank[r * bins + b] * residual[b];
    partial[threadIdx.x] = acc;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (int(threadIdx.x) < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) weights[r] = fmaxf(0.f, weights[r] + rate * partial[0]);
}

__global__ void update_residual(const float* bank, const float* spectrum, const float* weights,
                                float* residual, int refs, int bins) {
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= bins) return;
    float model = 0.f;
    for (int r = 0; r < refs; ++r) model += weights[r] * bank[r * bins + b];
    residual[b] = spectrum[b] - model;
}

class Fitter {
public:
    Fitter(const std::vector<float>& bank, int refs, int bins) : refs_(refs), bins_(bins) {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        check(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
        check(cudaMalloc(&bank_, bank.size() * sizeof(float)));
        check(cudaMalloc(&spectrum_, bins * sizeof(float)));
        check(cudaMalloc(&residual_, bins * sizeof(float)));
        check(cudaMalloc(&weights_, refs * sizeof(float)));
        check(cudaMallocHost(&host_, std::max(refs, bins) * sizeof(float)));
        check(cudaMemcpyAsync(bank_, bank.data(), bank.size() * sizeof(float),
                              cudaMemcpyHostToDevice, stream_));
        check(cudaStreamSynchronize(stream_));
    }

    ~Fitter() {
        cudaStreamSynchronize(stream_);
        cudaFree(bank_);
        cudaFree(spectrum_);
        cudaFree(residual_);
        cudaFree(weights_);
        cudaFreeHost(host_);
        cudaEventDestroy(uploaded_);
        cudaStreamDestroy(stream_);
    }

    Fitter(const Fitter&) = delete;
    Fitter& operator=(const Fitter&) = delete;

    // Starts the fit of one spectrum and returns at once.
    void start(const std::vector<float>& spectrum, int iterations) {
        check(cudaEventSynchronize(uploaded_));
        std::copy(spectrum.begin(), spectrum.begin() + bins_, host_);
        check(cudaMemcpyAsync(spectrum_, host_, bins_ * sizeof(float), cudaMemcpyHostToDevice,
                              stream_));
        check(cudaEventRecord(uploaded_, stream_));
        check(cudaMemsetAsync(weights_, 0, refs_ * sizeof(float), stream_));
        for (int i = 0; i < iterations; ++i) {
            update_residual<<<(bins_ + 127) / 128, 128, 0, stream_>>>(bank_, spectrum_, weights_,
                                                                      residual_, refs_, bins_);
            gradient_step<<<refs_, 256, 0, stream_>>>(bank_, spectrum_, weights_, residual_, refs_,
                                                      bins_, 0.05f);
        }
        check(cudaGetLastError());
    }

    // Waits for the fit and returns the weights of the references.
    std::vector<float> weights() {
        fetch();
        check(cudaDeviceSynchronize());
        return std::vector<float>(host_, host_ + refs_);
    }

private:
    void fetch() {
        check(cudaMemcpyAsync(host_, weights_, refs_ * sizeof(float), cudaMemcpyDeviceToHost,
                              stream_));
        check(cudaStreamSynchronize(stream_));
    }

    int refs_;
    int bins_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t uploaded_ = nullptr;
    float* bank_ = nullptr;
    float* spectrum_ = nullptr;
    float* residual_ = nullptr;
    float* weights_ = nullptr;
    float* host_ = nullptr;
};

// One acquisition cycle over all instruments.
std::vector<std::vector<float>> fit_all(std::vector<Fitter*>& fitters,
                                        const std::vector<std::vector<float>>& spectra) {
    for (size_t i = 0; i < fitters.size(); ++i) fitters[i]->start(spectra[i], 200);
    std::vector<std::vector<float>> out;
    for (Fitter* f : fitters) out.push_back(f->weights());
    return out;
}

}  // namespace raman
