// Path tracer, smallest version: a pass for direct light and a pass for bounced light share one film.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t rc, int line)
{
    if (rc != cudaSuccess) {
        std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
        std::exit(2);
    }
}
#define CHECK(x) check((x), __LINE__)

__global__ void trace_direct(float* radiance, int pixels, int sample)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        radiance[i] = 0.75f + 0.25f * ((i + sample) & 1);
}

__global__ void trace_bounces(float* radiance, int pixels, int sample, int depth)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    float value = 0.5f;
    for (int d = 0; d < depth; ++d)
        value = value * 0.5f + 0.125f * ((i ^ sample) & 1);
    radiance[i] = value;
}

__global__ void add_radiance(float* film, const float* radiance, int pixels)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        film[i] += radiance[i];
}

class Film {
public:
    explicit Film(int pixels) : pixels_(pixels) { CHECK(cudaMalloc(&sum_, sizeof(float) * pixels)); }
    ~Film() { cudaFree(sum_); }
    Film(const Film&) = delete;
    Film& operator=(const Film&) = delete;

    void clear(cudaStream_t stream) { CHECK(cudaMemsetAsync(sum_, 0, sizeof(float) * pixels_, stream)); }

    void splat(const float* radiance, cudaStream_t stream)
    {
        add_radiance<<<(pixels_ + 255) / 256, 256, 0, stream>>>(sum_, radiance, pixels_);
        CHECK(cudaGetLastError());
    }

    std::vector<float> develop(cudaStream_t stream) const
    {
        std::vector<float> picture(pixels_);
        CHECK(cudaMemcpyAsync(picture.data(), sum_, sizeof(float) * pixels_, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        return picture;
    }

    int pixels() const { return pixels_; }

private:
    int pixels_;
    float* sum_ = nullptr;
};

struct Pass {
    explicit Pass(int pixels)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&splatted, cudaEventDisableTiming));
        CHECK(cudaMalloc(&radiance, sizeof(float) * pixels));
    }
    ~Pass()
    {
        cudaStreamSynchronize(stream);
        cudaFree(radiance);
        cudaEventDestroy(splatted);
        cudaStreamDestroy(stream);
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    cudaStream_t stream = nullptr;
    cudaEvent_t splatted = nullptr;
    float* radiance = nullptr;
};

class Renderer {
public:
    explicit Renderer(int pixels) : film_(pixels), direct_(pixels), bounced_(pixels)
    {
        CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    }
    ~Renderer()
    {
        cudaStreamSynchronize(main_);
        cudaEventDestroy(begin_);
        cudaStreamDestroy(main_);
    }

    std::vector<float> render(int samples)
    {
        film_.clear(main_);
        for (int sample = 0; sample < samples; ++sample) {
            CHECK(cudaEventRecord(begin_, main_));
            direct_sample(sample);
            bounced_sample(sample);
            CHECK(cudaStreamWaitEvent(main_, direct_.splatted, 0));
            CHECK(cudaStreamWaitEvent(main_, bounced_.splatted, 0));
        }
        return film_.develop(main_);
    }

private:
    void direct_sample(int sample)
    {
        const int pixels = film_.pixels();
        CHECK(cudaStreamWaitEvent(direct_.stream, begin_, 0));
        trace_direct<<<(pixels + 255) / 256, 256, 0, direct_.stream>>>(direct_.radiance, pixels, sample);
        film_.splat(direct_.radiance, direct_.stream);
        CHECK(cudaEventRecord(direct_.splatted, direct_.stream));
    }

    void bounced_sample(int sample)
    {
        const int pixels = film_.pixels();
        CHECK(cudaStreamWaitEvent(bounced_.stream, begin_, 0));
        trace_bounces<<<(pixels + 255) / 256, 256, 0, bounced_.stream>>>(bounced_.radiance, pixels, sample, 6);
        film_.splat(bounced_.radiance, bounced_.stream);
        CHECK(cudaEventRecord(bounced_.splatted, bounced_.stream));
    }

    Film film_;
    Pass direct_;
    Pass bounced_;
    cudaStream_t main_ = nullptr;
    cudaEvent_t begin_ = nullptr;
};

int main()
{
    Renderer renderer(640 * 480);
    const std::vector<float> picture = renderer.render(64);
    std::printf("first pixel %.4f, last pixel %.4f\n", picture.front() / 64, picture.back() / 64);
    return 0;
}
