// Tone-mapping analysis for a video renderer.
#include <cuda_runtime.h>
#include <cassert>
#include <cstdint>
#include <utility>

namespace tonemap {

// Owning, move-only, stream-ordered allocation.
template <typename T>
class device_buffer {
public:
    device_buffer(size_t count, cudaStream_t stream) : count_{count}, stream_{stream}
    {
        void* p = nullptr;
        cudaError_t rc = cudaMallocAsync(&p, count * sizeof(T), stream_);
        assert(rc == cudaSuccess);
        (void)rc;
        ptr_ = static_cast<T*>(p);
    }
    device_buffer(device_buffer&& o) noexcept
        : count_{o.count_}, stream_{o.stream_}, ptr_{std::exchange(o.ptr_, nullptr)} {}
    device_buffer(const device_buffer&) = delete;
    ~device_buffer()
    {
        if (ptr_) cudaFreeAsync(ptr_, stream_);
    }
    T* get() const { return ptr_; }
    size_t size() const { return count_; }
    cudaStream_t stream() const { return stream_; }

private:
    size_t count_;
    cudaStream_t stream_;
    T* ptr_;
};

inline void order(cudaStream_t first, cudaStream_t then)
{
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventRecord(e, first);
    cudaStreamWaitEvent(then, e, 0);
    cudaEventDestroy(e);
}

__global__ void luma_histogram(const uchar4* px, int n, unsigned* bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 c = px[i];
        int y = (77 * c.x + 150 * c.y + 29 * c.z) >> 8;
        atomicAdd(&bins[y], 1u);
    }
}

__global__ void build_curve(const unsigned* bins, int total, float* curve)
{
    unsigned acc = 0;
    for (int b = 0; b <= static_cast<int>(threadIdx.x); ++b) acc += bins[b];
    curve[threadIdx.x] = static_cast<float>(acc) / total;
}

// The curve is produced on `analysis`; the frame itself belongs to `render`.
// On return `render` is free to go on with the next frame.
void analyse_frame(const uchar4* frame, int pixels, float* curve,
                   cudaStream_t render, cudaStream_t analysis)
{
    device_buffer<unsigned> bins(256, render);
    cudaMemsetAsync(bins.get(), 0, bins.size() * sizeof(unsigned), render);
    luma_histogram<<<64, 256, 0, render>>>(frame, pixels, bins.get());

    order(render, analysis);
    build_curve<<<1, 256, 0, analysis>>>(bins.get(), pixels, curve);
    order(analysis, render);
}

void analyse_clip(const uchar4* const* frames, int count, int pixels, float* curves)
{
    cudaStream_t render, analysis;
    cudaStreamCreateWithFlags(&render, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&analysis, cudaStreamNonBlocking);
    for (int i = 0; i < count; ++i)
        analyse_frame(frames[i], pixels, curves + 256 * i, render, analysis);
    cudaStreamSynchronize(analysis);
    cudaStreamSynchronize(render);
    cudaStreamDestroy(analysis);
    cudaStreamDestroy(render);
}

} // namespace tonemap
