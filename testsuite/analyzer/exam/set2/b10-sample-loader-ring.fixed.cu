// Tabular sample loader with a ring of pinned staging buffers.
#include <cuda_runtime.h>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace loader {

constexpr int kDepth = 4;

struct Slot {
    float      *staging  = nullptr;
    cudaEvent_t uploaded = nullptr;
};

void die(const char *msg, cudaError_t err)
{
    fprintf(stderr, "loader: %s (%s)\n", msg, cudaGetErrorString(err));
    exit(EXIT_FAILURE);
}

__global__ void standardize(float *x, const float *mean, const float *rstd, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    for (int r = 0; r < rows; ++r) {
        float &v = x[r * cols + c];
        v = (v - mean[c]) * rstd[c];
    }
}

class StagingRing
{
public:
    explicit StagingRing(size_t floats)
    {
        for (auto &s : slots_) {
            cudaError_t err = cudaHostAlloc((void **)&s.staging, floats * sizeof(float), cudaHostAllocWriteCombined);
            if (err != cudaSuccess) die("pinned allocation", err);
            err = cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming | cudaEventBlockingSync);
            if (err != cudaSuccess) die("event", err);
        }
    }
    ~StagingRing()
    {
        for (auto &s : slots_) {
            cudaEventSynchronize(s.uploaded);
            cudaEventDestroy(s.uploaded);
            cudaFreeHost(s.staging);
        }
    }
    int advance() { return head_++ % kDepth; }
    // An event that was never recorded counts as complete.
    void waitForSlot(int i) { cudaEventSynchronize(slots_[i].uploaded); }
    Slot &operator[](int i) { return slots_[i]; }

private:
    std::array<Slot, kDepth> slots_;
    unsigned head_ = 0;
};

class SampleLoader
{
public:
    using Reader = std::function<void(float *dst, size_t floats, long step)>;

    SampleLoader(int rows, int cols, Reader reader)
        : rows_(rows), cols_(cols), reader_(std::move(reader)), ring_(size_t(rows) * cols)
    {
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    }
    ~SampleLoader()
    {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }

    void next(float *device, const float *mean, const float *rstd)
    {
        const size_t n = size_t(rows_) * cols_;
        const int i = ring_.advance();
        ring_.waitForSlot(i);
        Slot &slot = ring_[i];
        reader_(slot.staging, n, step_++);
        cudaMemcpyAsync(device, slot.staging, n * sizeof(float), cudaMemcpyHostToDevice, stream_);
        cudaEventRecord(slot.uploaded, stream_);
        standardize<<<(cols_ + 127) / 128, 128, 0, stream_>>>(device, mean, rstd, rows_, cols_);
    }
    cudaStream_t stream() const { return stream_; }

private:
    int rows_, cols_;
    long step_ = 0;
    Reader reader_;
    StagingRing ring_;
    cudaStream_t stream_ = nullptr;
};

} // namespace loader
