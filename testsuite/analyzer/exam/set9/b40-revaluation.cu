// Monte Carlo revaluation of option books. The kernels of one revaluation are short, therefore
// they are captured once and replayed for every tick of the market.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

namespace reval {

inline void check(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Market {
    float spot;
    float volatility;
    float rate;
};

__global__ void simulate(const Market* market, float* paths, int n_paths, unsigned seed) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_paths) return;
    unsigned s = seed ^ (i * 747796405u + 2891336453u);
    s = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
    const float u = (s >> 8) * (1.f / 16777216.f) - 0.5f;
    const Market m = *market;
    paths[i] = m.spot * __expf(m.rate + 3.f * m.volatility * u);
}

__global__ void price(const float* paths, int n_paths, const float* strikes, float* values,
                      int options) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= options) return;
    float acc = 0.f;
    for (int i = 0; i < n_paths; ++i) acc += fmaxf(0.f, paths[i] - strikes[o]);
    values[o] = acc / n_paths;
}

// Scratch memory shared by all steps of an engine; grows on demand.
class Workspace {
public:
    ~Workspace() { cudaFree(data_); }
    float* reserve(std::size_t count, cudaStream_t stream) {
        if (count > count_) {
            check(cudaStreamSynchronize(stream));
            check(cudaFree(data_));
            data_ = nullptr;
            count_ = 0;
            check(cudaMalloc(&data_, count * sizeof(float)));
            count_ = count;
        }
        return data_;
    }

private:
    float* data_ = nullptr;
    std::size_t count_ = 0;
};

class Engine {
public:
    // `strikes` is a device array that outlives the engine.
    Engine(const float* strikes, int options, int paths)
        : strikes_(strikes), options_(options), paths_(paths) {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        check(cudaMalloc(&market_, sizeof(Market)));
        check(cudaMallocHost(&host_market_, sizeof(Market)));
        check(cudaMalloc(&values_, options * sizeof(float)));
        capture();
    }

    ~Engine() {
        cudaStreamSynchronize(stream_);
        cudaGraphExecDestroy(exec_);
        cudaFree(market_);
        cudaFree(values_);
        cudaFreeHost(host_market_);
        cudaStreamDestroy(stream_);
    }

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Values the book at the current market.
    void tick(const Market& m, float* host_values) {
        *host_market_ = m;
        check(cudaGraphLaunch(exec_, stream_));
        fetch(host_values);
    }

    // One-off valuation with more paths, used at the end of the day.
    void close_of_day(const Market& m, int paths, float* host_values) {
        float* scratch = scratch_.reserve(paths, stream_);
        *host_market_ = m;
        enqueue(scratch, paths);
        fetch(host_values);
    }

private:
    void enqueue(float* scratch, int paths) {
        check(cudaMemcpyAsync(market_, host_market_, sizeof(Market), cudaMemcpyHostToDevice,
                              stream_));
        simulate<<<(paths + 255) / 256, 256, 0, stream_>>>(market_, scratch, paths, 7u);
        price<<<(options_ + 63) / 64, 64, 0, stream_>>>(scratch, paths, strikes_, values_,
                                                        options_);
        check(cudaGetLastError());
    }

    void capture() {
        float* scratch = scratch_.reserve(paths_, stream_);
        cudaGraph_t graph = nullptr;
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        enqueue(scratch, paths_);
        check(cudaStreamEndCapture(stream_, &graph));
        check(cudaGraphInstantiate(&exec_, graph, 0));
        check(cudaGraphDestroy(graph));
    }

    void fetch(float* host_values) {
        check(cudaMemcpyAsync(host_values, values_, options_ * sizeof(float),
                              cudaMemcpyDeviceToHost, stream_));
        check(cudaStreamSynchronize(stream_));
    }

    const float* strikes_;
    int options_;
    int paths_;
    Workspace scratch_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    Market* market_ = nullptr;
    Market* host_market_ = nullptr;
    float* values_ = nullptr;
};

}  // namespace reval
