// Exposure control of a camera: a histogram of each frame decides on the gain of the next one.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA(call)                                                                   \
    do {                                                                             \
        const cudaError_t rc = (call);                                               \
        if (rc != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc));      \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

constexpr int kBins = 64;

__global__ void expose(unsigned char* frame, int pixels, float gain, int number)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels) {
        const float light = ((i * 31 + number * 7) % 101) / 101.f;
        frame[i] = static_cast<unsigned char>(fminf(light * gain, 1.f) * 255.f);
    }
}

__global__ void count_levels(const unsigned char* frame, int pixels, unsigned* bins)
{
    __shared__ unsigned local[kBins];
    if (threadIdx.x < kBins)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x)
        atomicAdd(&local[frame[i] * kBins / 256], 1u);
    __syncthreads();
    if (threadIdx.x < kBins)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// A queue of device work. read() is the only call that waits.
class WorkQueue {
public:
    WorkQueue() { CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~WorkQueue()
    {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;

    void clear(void* data, size_t bytes) { CUDA(cudaMemsetAsync(data, 0, bytes, stream_)); }

    template <class Launch>
    void launch(Launch&& launch)
    {
        std::forward<Launch>(launch)(stream_);
        CUDA(cudaGetLastError());
    }

    // Returns when the data is on the host.
    void read(void* host, const void* device, size_t bytes)
    {
        CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
    }

private:
    cudaStream_t stream_ = nullptr;
};

class ExposureControl {
public:
    explicit ExposureControl(int pixels) : pixels_(pixels)
    {
        CUDA(cudaMalloc(&frame_, pixels));
        CUDA(cudaMalloc(&bins_, sizeof(unsigned) * kBins));
    }
    ~ExposureControl()
    {
        cudaFree(frame_);
        cudaFree(bins_);
    }
    ExposureControl(const ExposureControl&) = delete;
    ExposureControl& operator=(const ExposureControl&) = delete;

    // Takes a frame and returns the share of pixels in the upper quarter of the range.
    float take(WorkQueue& queue, float gain, int number)
    {
        queue.launch([&](cudaStream_t stream) {
            expose<<<(pixels_ + 255) / 256, 256, 0, stream>>>(frame_, pixels_, gain, number);
        });
        queue.clear(bins_, sizeof(unsigned) * kBins);
        queue.launch([&](cudaStream_t stream) { count_levels<<<32, 256, 0, stream>>>(frame_, pixels_, bins_); });
        std::vector<unsigned> levels(kBins);
        queue.read(levels.data(), bins_, sizeof(unsigned) * kBins);
        unsigned bright = 0;
        for (int b = kBins * 3 / 4; b < kBins; ++b)
            bright += levels[b];
        return static_cast<float>(bright) / pixels_;
    }

private:
    int pixels_;
    unsigned char* frame_ = nullptr;
    unsigned* bins_ = nullptr;
};

int main()
{
    const int pixels = 1920 * 1080;
    ExposureControl control(pixels);
    WorkQueue queue;
    float gain = 0.2f;
    for (int number = 0; number < 60; ++number) {
        const float bright = control.take(queue, gain, number);
        gain *= bright > 0.25f ? 0.95f : 1.05f;
        if (number % 10 == 0)
            std::printf("frame %d: bright %.3f, gain %.3f\n", number, bright, gain);
    }
    return 0;
}
