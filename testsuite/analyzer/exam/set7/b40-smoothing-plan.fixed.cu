// Smoothing of height maps: the usual size runs as a recorded graph, odd sizes run directly.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace heightmap {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(what);
}

// Device memory that grows when it has to.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { cudaFree(data_); }

    // `stream` is where the memory is used.
    float* reserve(size_t count, cudaStream_t stream)
    {
        if (count > capacity_) {
            check(cudaStreamSynchronize(stream), "wait for scratch");
            check(cudaFree(data_), "free scratch");
            data_ = nullptr;
            check(cudaMalloc(&data_, count * sizeof(float)), "scratch");
            capacity_ = count;
        }
        return data_;
    }

private:
    float* data_ = nullptr;
    size_t capacity_ = 0;
};

struct Map {
    float* heights;
    int width;
    int height;
    size_t cells() const { return static_cast<size_t>(width) * height; }
};

__global__ void blur_rows(const float* in, float* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x >= width || y >= height)
        return;
    const float* row = in + static_cast<size_t>(y) * width;
    out[static_cast<size_t>(y) * width + x] =
        0.25f * row[x > 0 ? x - 1 : x] + 0.5f * row[x] + 0.25f * row[x + 1 < width ? x + 1 : x];
}

__global__ void blur_columns(const float* in, float* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x >= width || y >= height)
        return;
    const size_t up = static_cast<size_t>(y > 0 ? y - 1 : y) * width + x;
    const size_t down = static_cast<size_t>(y + 1 < height ? y + 1 : y) * width + x;
    const size_t here = static_cast<size_t>(y) * width + x;
    out[here] = 0.25f * in[up] + 0.5f * in[here] + 0.25f * in[down];
}

void queue_smoothing(const Map& map, float* scratch, int rounds, cudaStream_t stream)
{
    const dim3 grid((map.width + 127) / 128, map.height);
    for (int round = 0; round < rounds; ++round) {
        blur_rows<<<grid, 128, 0, stream>>>(map.heights, scratch, map.width, map.height);
        blur_columns<<<grid, 128, 0, stream>>>(scratch, map.heights, map.width, map.height);
    }
    check(cudaGetLastError(), "blur");
}

class Smoother {
public:
    explicit Smoother(int rounds) : rounds_(rounds)
    {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    }
    Smoother(const Smoother&) = delete;
    Smoother& operator=(const Smoother&) = delete;
    ~Smoother()
    {
        cudaStreamSynchronize(stream_);
        if (exec_)
            cudaGraphExecDestroy(exec_);
        cudaStreamDestroy(stream_);
    }

    // Records the smoothing of the map that is smoothed all the time.
    void prepare(const Map& map)
    {
        float* scratch = plan_scratch_.reserve(map.cells(), stream_);
        cudaGraph_t graph = nullptr;
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin");
        queue_smoothing(map, scratch, rounds_, stream_);
        check(cudaStreamEndCapture(stream_, &graph), "end");
        check(cudaStreamSynchronize(stream_), "wait");
        if (exec_)
            check(cudaGraphExecDestroy(exec_), "drop");
        check(cudaGraphInstantiate(&exec_, graph, 0), "instantiate");
        check(cudaGraphDestroy(graph), "graph");
    }

    // Smooths the prepared map once more.
    void replay() { check(cudaGraphLaunch(exec_, stream_), "replay"); }

    // Smooths any other map.
    void smooth(const Map& map) { queue_smoothing(map, scratch_.reserve(map.cells(), stream_), rounds_, stream_); }

    void wait() { check(cudaStreamSynchronize(stream_), "wait"); }

private:
    int rounds_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    Scratch scratch_;
    Scratch plan_scratch_;
};

void smooth_scene(Smoother& smoother, const Map& terrain, const Map* overlays, int overlays_count, int frames)
{
    smoother.prepare(terrain);
    for (int frame = 0; frame < frames; ++frame) {
        smoother.replay();
        if (frame < overlays_count)
            smoother.smooth(overlays[frame]);
    }
    smoother.wait();
}

}  // namespace heightmap
