// Two-stage pipeline over two GPUs with a ring of transfer slots.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HANDLE(x) handle_(x, #x)
static void handle_(cudaError_t e, const char* s)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", s, cudaGetErrorString(e));
        std::exit(3);
    }
}

struct PipelineConfig {
    int first_device = 0;
    int second_device = 1;
    int slots = 2;
    int width = 1 << 20;
};

// Microbatch activations: `src` on the first device, `dst` on the second.
struct TransferSlot {
    float* src = nullptr;
    float* dst = nullptr;
    cudaEvent_t produced{};  // first device
    cudaEvent_t arrived{};   // second device
    cudaEvent_t drained{};   // second device
};

__global__ void stage_one(float* act, int n, int microbatch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) act[i] = tanhf(1e-3f * (i + microbatch));
}

__global__ void stage_two(const float* act, float* loss, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(loss, act[i] * act[i] / n);
}

class TwoGpuPipeline {
public:
    explicit TwoGpuPipeline(const PipelineConfig& cfg) : cfg_(cfg), ring_(cfg.slots)
    {
        on(cfg_.first_device);
        HANDLE(cudaStreamCreateWithFlags(&compute1_, cudaStreamNonBlocking));
        for (auto& s : ring_) {
            HANDLE(cudaMalloc(&s.src, bytes()));
            HANDLE(cudaEventCreateWithFlags(&s.produced, cudaEventDisableTiming));
        }
        on(cfg_.second_device);
        HANDLE(cudaStreamCreateWithFlags(&compute2_, cudaStreamNonBlocking));
        HANDLE(cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking));
        for (auto& s : ring_) {
            HANDLE(cudaMalloc(&s.dst, bytes()));
            HANDLE(cudaEventCreateWithFlags(&s.arrived, cudaEventDisableTiming));
            HANDLE(cudaEventCreateWithFlags(&s.drained, cudaEventDisableTiming));
        }
        HANDLE(cudaMalloc(&loss_, sizeof(float)));
        HANDLE(cudaMemsetAsync(loss_, 0, sizeof(float), compute2_));
    }

    ~TwoGpuPipeline()
    {
        HANDLE(cudaStreamSynchronize(compute1_));
        HANDLE(cudaStreamSynchronize(transfer_));
        HANDLE(cudaStreamSynchronize(compute2_));
        for (auto& s : ring_) {
            HANDLE(cudaFree(s.src));
            HANDLE(cudaFree(s.dst));
            for (cudaEvent_t e : {s.produced, s.arrived, s.drained}) HANDLE(cudaEventDestroy(e));
        }
        HANDLE(cudaFree(loss_));
        for (cudaStream_t s : {compute1_, transfer_, compute2_}) HANDLE(cudaStreamDestroy(s));
    }

    void push(int microbatch)
    {
        TransferSlot& s = ring_[microbatch % ring_.size()];
        forward_first(s, microbatch);
        transfer(s);
        forward_second(s);
    }

    float loss()
    {
        float v = 0.f;
        HANDLE(cudaMemcpyAsync(&v, loss_, sizeof v, cudaMemcpyDeviceToHost, compute2_));
        HANDLE(cudaStreamSynchronize(compute2_));
        return v;
    }

private:
    static void on(int device) { HANDLE(cudaSetDevice(device)); }
    size_t bytes() const { return sizeof(float) * cfg_.width; }
    int blocks() const { return (cfg_.width + 255) / 256; }

    void forward_first(TransferSlot& s, int microbatch)
    {
        on(cfg_.first_device);
        HANDLE(cudaStreamWaitEvent(compute1_, s.arrived, 0));
        stage_one<<<blocks(), 256, 0, compute1_>>>(s.src, cfg_.width, microbatch);
        HANDLE(cudaGetLastError());
        HANDLE(cudaEventRecord(s.produced, compute1_));
    }

    void transfer(TransferSlot& s)
    {
        on(cfg_.second_device);
        HANDLE(cudaStreamWaitEvent(transfer_, s.produced, 0));
        HANDLE(cudaStreamWaitEvent(transfer_, s.drained, 0));
        HANDLE(cudaMemcpyPeerAsync(s.dst, cfg_.second_device, s.src, cfg_.first_device, bytes(), transfer_));
        HANDLE(cudaEventRecord(s.arrived, transfer_));
    }

    void forward_second(TransferSlot& s)
    {
        HANDLE(cudaStreamWaitEvent(compute2_, s.arrived, 0));
        stage_two<<<blocks(), 256, 0, compute2_>>>(s.dst, loss_, cfg_.width);
        HANDLE(cudaGetLastError());
        HANDLE(cudaEventRecord(s.drained, compute2_));
    }

    PipelineConfig cfg_;
    std::vector<TransferSlot> ring_;
    cudaStream_t compute1_{}, transfer_{}, compute2_{};
    float* loss_ = nullptr;
};

int main()
{
    int devices = 0;
    HANDLE(cudaGetDeviceCount(&devices));
    if (devices < 2) return 0;
    TwoGpuPipeline pipe(PipelineConfig{});
    for (int m = 0; m < 16; ++m) pipe.push(m);
    std::printf("loss %f\n", pipe.loss());
    return 0;
}
