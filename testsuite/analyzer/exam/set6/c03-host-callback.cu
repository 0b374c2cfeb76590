#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

#define CB_OK(e)                                                    \
    do {                                                            \
        if (cudaError_t x_ = (e); x_ != cudaSuccess) {              \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(x_));   \
            std::exit(1);                                           \
        }                                                           \
    } while (0)

__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1u);
}

class HistogramJob {
public:
    static constexpr int kBins = 256;
    explicit HistogramJob(int bytes) : bytes_(bytes) {
        CB_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CB_OK(cudaMalloc(&data_, bytes));
        CB_OK(cudaMalloc(&bins_, kBins * sizeof(unsigned)));
        CB_OK(cudaMallocHost(&host_, kBins * sizeof(unsigned)));
    }
    ~HistogramJob() {
        cudaStreamSynchronize(stream_);
        cudaFreeHost(host_);
        cudaFree(bins_);
        cudaFree(data_);
        cudaStreamDestroy(stream_);
    }
    HistogramJob(const HistogramJob&) = delete;

    std::future<void> start(int seed) {
        CB_OK(cudaMemsetAsync(data_, seed, bytes_, stream_));
        CB_OK(cudaMemsetAsync(bins_, 0, kBins * sizeof(unsigned), stream_));
        histogram<<<(bytes_ + 255) / 256, 256, 0, stream_>>>(data_, bytes_, bins_);
        CB_OK(cudaMemcpyAsync(host_, bins_, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost, stream_));
        auto done = std::make_unique<std::promise<void>>();
        auto result = done->get_future();
        CB_OK(cudaLaunchHostFunc(stream_, &HistogramJob::completed, done.release()));
        return result;
    }

    unsigned largest() const {
        unsigned best = 0;
        for (int b = 0; b < kBins; ++b) best = host_[b] > best ? host_[b] : best;
        return best;
    }

private:
    static void CUDART_CB completed(void* arg) {
        std::unique_ptr<std::promise<void>> done(static_cast<std::promise<void>*>(arg));
        done->set_value();
    }

    int bytes_;
    cudaStream_t stream_{};
    unsigned char* data_ = nullptr;
    unsigned* bins_ = nullptr;
    unsigned* host_ = nullptr;
};

int main() {
    std::vector<std::unique_ptr<HistogramJob>> jobs;
    for (int j = 0; j < 4; ++j) jobs.push_back(std::make_unique<HistogramJob>(1 << (18 + j)));
    unsigned sum = 0;
    for (int round = 0; round < 5; ++round) {
        std::vector<std::future<void>> pending;
        for (auto& j : jobs) pending.push_back(j->start(round));
        for (size_t j = 0; j < jobs.size(); ++j) {
            pending[j].get();
            sum += jobs[j]->largest();
        }
    }
    std::printf("%u\n", sum);
    return 0;
}
