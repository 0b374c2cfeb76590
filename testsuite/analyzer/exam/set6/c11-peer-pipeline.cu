#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define PIPE(x)                                                               \
    do {                                                                      \
        cudaError_t pe = (x);                                                 \
        if (pe != cudaSuccess) {                                              \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(pe)); \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)

__global__ void block(const float* in, float* out, int n, float w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * w + 0.1f;
}

class PipelineStage {
public:
    PipelineStage(int device, int n) : device_(device), n_(n) {
        use();
        PIPE(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        PIPE(cudaStreamCreateWithFlags(&send_, cudaStreamNonBlocking));
        for (cudaEvent_t* e : {&computed_, &sent_, &consumed_}) PIPE(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
        PIPE(cudaMalloc(&in_, n * sizeof(float)));
        PIPE(cudaMalloc(&out_, n * sizeof(float)));
        PIPE(cudaMemsetAsync(in_, 0, n * sizeof(float), compute_));
        PIPE(cudaStreamSynchronize(compute_));
    }
    ~PipelineStage() {
        cudaSetDevice(device_);
        cudaFree(out_);
        cudaFree(in_);
        for (cudaEvent_t e : {computed_, sent_, consumed_}) cudaEventDestroy(e);
        cudaStreamDestroy(send_);
        cudaStreamDestroy(compute_);
    }
    PipelineStage(const PipelineStage&) = delete;

    void receiveFrom(const PipelineStage& previous) {
        use();
        PIPE(cudaStreamWaitEvent(compute_, previous.sent_, 0));
    }

    void forward(float w) {
        use();
        PIPE(cudaStreamWaitEvent(compute_, sent_, 0));
        block<<<(n_ + 255) / 256, 256, 0, compute_>>>(in_, out_, n_, w);
        PIPE(cudaEventRecord(computed_, compute_));
        PIPE(cudaEventRecord(consumed_, compute_));
    }

    void sendTo(PipelineStage& next) {
        use();
        PIPE(cudaStreamWaitEvent(send_, computed_, 0));
        PIPE(cudaStreamWaitEvent(send_, next.consumed_, 0));
        PIPE(cudaMemcpyPeerAsync(next.in_, next.device_, out_, device_, n_ * sizeof(float), send_));
        PIPE(cudaEventRecord(sent_, send_));
    }

    void wait() {
        use();
        PIPE(cudaStreamSynchronize(compute_));
        PIPE(cudaStreamSynchronize(send_));
    }

private:
    void use() const { PIPE(cudaSetDevice(device_)); }

    int device_, n_;
    cudaStream_t compute_{}, send_{};
    cudaEvent_t computed_{}, sent_{}, consumed_{};
    float *in_ = nullptr, *out_ = nullptr;
};

int main() {
    int devices = 0;
    PIPE(cudaGetDeviceCount(&devices));
    std::vector<std::unique_ptr<PipelineStage>> stages;
    for (int d = 0; d < devices; ++d) stages.push_back(std::make_unique<PipelineStage>(d, 1 << 20));
    for (int micro = 0; micro < 16; ++micro) {
        for (size_t s = 0; s < stages.size(); ++s) {
            if (s > 0) stages[s]->receiveFrom(*stages[s - 1]);
            stages[s]->forward(0.5f + 0.01f * s);
            if (s + 1 < stages.size()) stages[s]->sendTo(*stages[s + 1]);
        }
    }
    for (auto& s : stages) s->wait();
    return 0;
}
