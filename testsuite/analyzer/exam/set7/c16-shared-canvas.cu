// Layers are painted on streams of their own and merged on the default stream.
// Built without --default-stream per-thread: the default stream and the layers' streams wait for each other.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                                     \
    do {                                                                              \
        const cudaError_t gpu_rc = (call);                                            \
        if (gpu_rc != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s -> %s\n", #call, cudaGetErrorString(gpu_rc));    \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

constexpr int kWidth = 800;
constexpr int kHeight = 600;
constexpr int kPixels = kWidth * kHeight;

__global__ void paint_rings(float* layer, int number, int frame)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x >= kWidth)
        return;
    const float dx = x - 100.f * (number + 1);
    const float dy = y - 300.f;
    layer[y * kWidth + x] = 0.5f + 0.5f * cosf(0.05f * sqrtf(dx * dx + dy * dy) - 0.1f * frame);
}

__global__ void merge(float* canvas, const float* layer, float share)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kPixels)
        canvas[i] += share * layer[i];
}

__global__ void brightest(const float* canvas, int* result)
{
    int local = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kPixels; i += gridDim.x * blockDim.x)
        local = max(local, static_cast<int>(canvas[i] * 1000.f));
    atomicMax(result, local);
}

class Layer {
public:
    explicit Layer(int number) : number_(number)
    {
        GPU(cudaStreamCreate(&stream_));
        GPU(cudaMalloc(&pixels_, kPixels * sizeof(float)));
    }
    ~Layer()
    {
        GPU(cudaStreamSynchronize(stream_));
        GPU(cudaStreamDestroy(stream_));
        GPU(cudaFree(pixels_));
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;

    void paint(int frame)
    {
        paint_rings<<<dim3((kWidth + 127) / 128, kHeight), 128, 0, stream_>>>(pixels_, number_, frame);
        GPU(cudaGetLastError());
    }

    const float* pixels() const { return pixels_; }

private:
    int number_;
    cudaStream_t stream_ = nullptr;
    float* pixels_ = nullptr;
};

class Canvas {
public:
    Canvas()
    {
        GPU(cudaMalloc(&canvas_, kPixels * sizeof(float)));
        GPU(cudaMalloc(&result_, sizeof(int)));
    }
    ~Canvas()
    {
        GPU(cudaFree(canvas_));
        GPU(cudaFree(result_));
    }
    Canvas(const Canvas&) = delete;
    Canvas& operator=(const Canvas&) = delete;

    template <class Layers>
    int compose(const Layers& layers)
    {
        GPU(cudaMemset(canvas_, 0, kPixels * sizeof(float)));
        GPU(cudaMemset(result_, 0, sizeof(int)));
        for (const Layer* layer : layers)
            merge<<<(kPixels + 255) / 256, 256>>>(canvas_, layer->pixels(), 1.f / layers.size());
        brightest<<<64, 256>>>(canvas_, result_);
        GPU(cudaGetLastError());
        int host = 0;
        GPU(cudaMemcpy(&host, result_, sizeof host, cudaMemcpyDeviceToHost));
        return host;
    }

private:
    float* canvas_ = nullptr;
    int* result_ = nullptr;
};

int main()
{
    Layer red(0), green(1), blue(2);
    const std::vector<Layer*> layers{&red, &green, &blue};
    Canvas canvas;
    for (int frame = 0; frame < 20; ++frame) {
        for (Layer* layer : layers)
            layer->paint(frame);
        const std::vector<const Layer*> visible(layers.begin(), layers.end());
        std::printf("frame %2d: brightest %d\n", frame, canvas.compose(visible));
    }
    return 0;
}
