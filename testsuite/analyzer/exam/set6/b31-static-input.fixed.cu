#include <cuda_runtime.h>

#include <iostream>
#include <vector>

#define GRAPH_CHECK(x)                                                        \
    do {                                                                      \
        cudaError_t gc = (x);                                                 \
        if (gc != cudaSuccess) {                                              \
            std::cerr << __LINE__ << ": " << cudaGetErrorString(gc) << '\n';  \
            std::terminate();                                                 \
        }                                                                     \
    } while (0)

__global__ void layer(const float* in, float* out, int n, float w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * w + out[i] * 0.5f;
}

class Event {
public:
    Event() { GRAPH_CHECK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(e_); }
    Event(const Event&) = delete;
    void record(cudaStream_t s) { GRAPH_CHECK(cudaEventRecord(e_, s)); }
    void block(cudaStream_t s) { GRAPH_CHECK(cudaStreamWaitEvent(s, e_, 0)); }

private:
    cudaEvent_t e_{};
};

class GraphedModule {
public:
    GraphedModule(int n, int layers) : n_(n) {
        GRAPH_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        GRAPH_CHECK(cudaMalloc(&input_, n * sizeof(float)));
        GRAPH_CHECK(cudaMalloc(&output_, n * sizeof(float)));
        GRAPH_CHECK(cudaMemsetAsync(output_, 0, n * sizeof(float), stream_));
        GRAPH_CHECK(cudaMemsetAsync(input_, 0, n * sizeof(float), stream_));
        GRAPH_CHECK(cudaStreamSynchronize(stream_));
        record(layers);
    }
    ~GraphedModule() {
        cudaStreamSynchronize(stream_);
        cudaGraphExecDestroy(exec_);
        cudaFree(output_);
        cudaFree(input_);
        cudaStreamDestroy(stream_);
    }
    void replay() {
        GRAPH_CHECK(cudaGraphLaunch(exec_, stream_));
        replayed_.record(stream_);
    }
    float* input() const { return input_; }
    cudaStream_t stream() const { return stream_; }
    Event& replayed() { return replayed_; }

private:
    void record(int layers) {
        cudaGraph_t graph;
        GRAPH_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        for (int l = 0; l < layers; ++l) layer<<<(n_ + 255) / 256, 256, 0, stream_>>>(input_, output_, n_, 1.f / (l + 1));
        GRAPH_CHECK(cudaStreamEndCapture(stream_, &graph));
        GRAPH_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        GRAPH_CHECK(cudaGraphDestroy(graph));
    }

    int n_;
    cudaStream_t stream_{};
    cudaGraphExec_t exec_{};
    float *input_ = nullptr, *output_ = nullptr;
    Event replayed_;
};

class MicroBatcher {
public:
    MicroBatcher(GraphedModule& module, int n, int batches) : module_(module), n_(n) {
        GRAPH_CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        for (int b = 0; b < batches; ++b) {
            float* p = nullptr;
            GRAPH_CHECK(cudaMallocHost(&p, n * sizeof(float)));
            for (int i = 0; i < n; ++i) p[i] = static_cast<float>(b);
            batches_.push_back(p);
        }
    }
    ~MicroBatcher() {
        cudaStreamSynchronize(copy_);
        for (float* p : batches_) cudaFreeHost(p);
        cudaStreamDestroy(copy_);
    }
    void step() {
        for (const float* b : batches_) {
            refill(b);
            module_.replay();
        }
    }

private:
    void refill(const float* host) {
        module_.replayed().block(copy_);
        GRAPH_CHECK(cudaMemcpyAsync(module_.input(), host, n_ * sizeof(float), cudaMemcpyHostToDevice, copy_));
        filled_.record(copy_);
        filled_.block(module_.stream());
    }

    GraphedModule& module_;
    int n_;
    cudaStream_t copy_{};
    std::vector<float*> batches_;
    Event filled_;
};

int main() {
    constexpr int n = 1 << 20;
    GraphedModule module(n, 12);
    MicroBatcher batcher(module, n, 4);
    for (int s = 0; s < 10; ++s) batcher.step();
    return 0;
}
