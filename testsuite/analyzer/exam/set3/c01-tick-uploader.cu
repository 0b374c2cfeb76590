// Streams market ticks to the device through two pinned buffers.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

void ck(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define CK(x) ck((x), __LINE__)

constexpr int kTicks = 1 << 18;

struct Tick {
    float bid, ask;
    int instrument;
};

__global__ void accumulate_mid(const Tick* ticks, int n, float* mids, int instruments)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mids[ticks[i].instrument % instruments], 0.5f * (ticks[i].bid + ticks[i].ask));
}

struct Lane {
    Tick* host = nullptr;
    Tick* dev = nullptr;
    cudaEvent_t uploaded{};
    cudaEvent_t consumed{};
};

class TickUploader {
public:
    TickUploader()
    {
        CK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        CK(cudaStreamCreateWithFlags(&exec_, cudaStreamNonBlocking));
        for (Lane& l : lanes_) {
            CK(cudaHostAlloc(&l.host, kTicks * sizeof(Tick), cudaHostAllocWriteCombined));
            CK(cudaMalloc(&l.dev, kTicks * sizeof(Tick)));
            CK(cudaEventCreateWithFlags(&l.uploaded, cudaEventDisableTiming));
            CK(cudaEventCreateWithFlags(&l.consumed, cudaEventDisableTiming));
        }
    }

    ~TickUploader()
    {
        CK(cudaStreamSynchronize(copy_));
        CK(cudaStreamSynchronize(exec_));
        for (Lane& l : lanes_) {
            CK(cudaFreeHost(l.host));
            CK(cudaFree(l.dev));
            CK(cudaEventDestroy(l.uploaded));
            CK(cudaEventDestroy(l.consumed));
        }
        CK(cudaStreamDestroy(copy_));
        CK(cudaStreamDestroy(exec_));
    }

    // Host side of a lane; free to be written when this returns.
    Tick* begin_batch()
    {
        Lane& l = lanes_[turn_];
        CK(cudaEventSynchronize(l.uploaded));
        return l.host;
    }

    void submit_batch(float* mids, int instruments)
    {
        Lane& l = lanes_[turn_];
        turn_ ^= 1;
        CK(cudaStreamWaitEvent(copy_, l.consumed, 0));
        CK(cudaMemcpyAsync(l.dev, l.host, kTicks * sizeof(Tick), cudaMemcpyHostToDevice, copy_));
        CK(cudaEventRecord(l.uploaded, copy_));
        CK(cudaStreamWaitEvent(exec_, l.uploaded, 0));
        accumulate_mid<<<120, 256, 0, exec_>>>(l.dev, kTicks, mids, instruments);
        CK(cudaGetLastError());
        CK(cudaEventRecord(l.consumed, exec_));
    }

    cudaStream_t exec() const { return exec_; }

private:
    std::array<Lane, 2> lanes_;
    int turn_ = 0;
    cudaStream_t copy_{}, exec_{};
};

}  // namespace

int main()
{
    constexpr int instruments = 500;
    TickUploader up;
    float* mids;
    float* report;
    CK(cudaMalloc(&mids, instruments * sizeof(float)));
    CK(cudaMallocHost(&report, instruments * sizeof(float)));
    CK(cudaMemsetAsync(mids, 0, instruments * sizeof(float), up.exec()));
    for (int batch = 0; batch < 50; ++batch) {
        Tick* t = up.begin_batch();
        for (int i = 0; i < kTicks; ++i) t[i] = Tick{100.f + batch, 100.5f + batch, i};
        up.submit_batch(mids, instruments);
    }
    CK(cudaMemcpyAsync(report, mids, instruments * sizeof(float), cudaMemcpyDeviceToHost, up.exec()));
    CK(cudaStreamSynchronize(up.exec()));
    std::printf("%f\n", std::accumulate(report, report + instruments, 0.0f));
    CK(cudaFreeHost(report));
    CK(cudaFree(mids));
    return 0;
}
