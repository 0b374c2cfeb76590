// Benchmark of leased blocks: memory comes from the stream-ordered pool and travels to another stream and back.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

#define RUN(call)                                                                  \
    do {                                                                           \
        cudaError_t run_rc = (call);                                               \
        if (run_rc != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(run_rc));   \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

constexpr int kCount = 1 << 18;

__global__ void fill(float* block, int n, float value)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        block[i] = value;
}

// Starts early and waits for the kernel in front of it before it touches memory.
__global__ void smooth_in_place(float* block, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    cudaGridDependencySynchronize();
    if (i < n)
        block[i] = 0.5f * block[i] + 0.5f;
}

__global__ void add_block(const float* block, int n, float* sum)
{
    float local = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        local += block[i];
    atomicAdd(sum, local / n);
}

// Owns a block that was allocated on `home` and is given back there, behind all uses that were noted.
class Lease {
public:
    Lease(size_t bytes, cudaStream_t home) : home_(home)
    {
        RUN(cudaMallocAsync(&data_, bytes, home));
        RUN(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming));
    }
    Lease(Lease&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), home_(other.home_), mark_(std::exchange(other.mark_, nullptr))
    {
    }
    Lease& operator=(Lease&&) = delete;
    ~Lease()
    {
        if (data_)
            RUN(cudaFreeAsync(data_, home_));
        if (mark_)
            RUN(cudaEventDestroy(mark_));
    }

    // Work queued on `stream` from now on comes behind everything on the home stream so far.
    void lend_to(cudaStream_t stream)
    {
        RUN(cudaEventRecord(mark_, home_));
        RUN(cudaStreamWaitEvent(stream, mark_, 0));
    }

    // To be called when the last use on `stream` is queued.
    void return_from(cudaStream_t stream)
    {
        RUN(cudaEventRecord(mark_, stream));
        RUN(cudaStreamWaitEvent(home_, mark_, 0));
    }

    float* floats() const { return static_cast<float*>(data_); }

private:
    void* data_ = nullptr;
    cudaStream_t home_;
    cudaEvent_t mark_ = nullptr;
};

void launch_smooth(float* block, cudaStream_t stream)
{
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3((kCount + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    RUN(cudaLaunchKernelEx(&config, smooth_in_place, block, kCount));
}

Lease produce(cudaStream_t stream, float value)
{
    Lease lease(kCount * sizeof(float), stream);
    fill<<<(kCount + 255) / 256, 256, 0, stream>>>(lease.floats(), kCount, value);
    RUN(cudaGetLastError());
    launch_smooth(lease.floats(), stream);
    return lease;
}

void consume(Lease lease, float* sum, cudaStream_t stream)
{
    lease.lend_to(stream);
    add_block<<<64, 256, 0, stream>>>(lease.floats(), kCount, sum);
    RUN(cudaGetLastError());
    lease.return_from(stream);
}

int main()
{
    cudaStream_t producer, consumer;
    RUN(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    RUN(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    float* sum = nullptr;
    RUN(cudaMallocAsync(reinterpret_cast<void**>(&sum), sizeof(float), consumer));
    RUN(cudaMemsetAsync(sum, 0, sizeof(float), consumer));

    std::deque<Lease> waiting;
    for (int i = 0; i < 100; ++i) {
        waiting.push_back(produce(producer, static_cast<float>(i % 2)));
        if (waiting.size() > 3) {
            consume(std::move(waiting.front()), sum, consumer);
            waiting.pop_front();
        }
    }
    while (!waiting.empty()) {
        consume(std::move(waiting.front()), sum, consumer);
        waiting.pop_front();
    }

    float result = 0.f;
    RUN(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, consumer));
    RUN(cudaFreeAsync(sum, consumer));
    RUN(cudaStreamSynchronize(consumer));
    RUN(cudaStreamSynchronize(producer));
    RUN(cudaStreamDestroy(producer));
    RUN(cudaStreamDestroy(consumer));
    std::printf("sum %.3f, expected 75\n", result);
    return std::fabs(result - 75.f) < 0.1f ? 0 : 1;
}
