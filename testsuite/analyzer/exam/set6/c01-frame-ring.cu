#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define RING_OK(x)                                                        \
    do {                                                                  \
        cudaError_t ring_rc = (x);                                        \
        if (ring_rc != cudaSuccess) {                                     \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(ring_rc));    \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

__global__ void debayer(const unsigned short* raw, float* rgb, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rgb[i] = raw[i] * (1.0f / 65535.0f);
}

struct Frame {
    unsigned short* pinned = nullptr;
    unsigned short* raw = nullptr;
    float* rgb = nullptr;
    cudaEvent_t uploaded{};
    cudaEvent_t consumed{};
};

template <int Depth>
class FrameRing {
public:
    explicit FrameRing(int pixels) : pixels_(pixels) {
        RING_OK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        RING_OK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        for (Frame& f : frames_) {
            RING_OK(cudaMallocHost(&f.pinned, pixels * sizeof(unsigned short)));
            RING_OK(cudaMalloc(&f.raw, pixels * sizeof(unsigned short)));
            RING_OK(cudaMalloc(&f.rgb, pixels * sizeof(float)));
            RING_OK(cudaEventCreateWithFlags(&f.uploaded, cudaEventDisableTiming));
            RING_OK(cudaEventCreateWithFlags(&f.consumed, cudaEventDisableTiming));
        }
    }
    ~FrameRing() {
        cudaStreamSynchronize(copy_);
        cudaStreamSynchronize(compute_);
        for (Frame& f : frames_) {
            cudaEventDestroy(f.consumed);
            cudaEventDestroy(f.uploaded);
            cudaFree(f.rgb);
            cudaFree(f.raw);
            cudaFreeHost(f.pinned);
        }
        cudaStreamDestroy(compute_);
        cudaStreamDestroy(copy_);
    }

    void submit(const std::vector<unsigned short>& sensor) {
        Frame& f = frames_[next_++ % Depth];
        refill(f, sensor);
        process(f);
    }

private:
    void refill(Frame& f, const std::vector<unsigned short>& sensor) {
        RING_OK(cudaEventSynchronize(f.uploaded));
        std::memcpy(f.pinned, sensor.data(), pixels_ * sizeof(unsigned short));
        RING_OK(cudaStreamWaitEvent(copy_, f.consumed, 0));
        RING_OK(cudaMemcpyAsync(f.raw, f.pinned, pixels_ * sizeof(unsigned short), cudaMemcpyHostToDevice, copy_));
        RING_OK(cudaEventRecord(f.uploaded, copy_));
    }

    void process(Frame& f) {
        RING_OK(cudaStreamWaitEvent(compute_, f.uploaded, 0));
        debayer<<<(pixels_ + 255) / 256, 256, 0, compute_>>>(f.raw, f.rgb, pixels_);
        RING_OK(cudaEventRecord(f.consumed, compute_));
    }

    int pixels_;
    unsigned next_ = 0;
    cudaStream_t copy_{}, compute_{};
    std::array<Frame, Depth> frames_;
};

int main() {
    constexpr int kPixels = 1920 * 1080;
    FrameRing<3> ring(kPixels);
    std::vector<unsigned short> sensor(kPixels);
    for (int frame = 0; frame < 240; ++frame) {
        for (int i = 0; i < kPixels; i += 97) sensor[i] = static_cast<unsigned short>(frame + i);
        ring.submit(sensor);
    }
    return 0;
}
