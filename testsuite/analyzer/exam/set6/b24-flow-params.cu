#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#define flowSafeCall(expr)                                                              \
    do {                                                                                \
        cudaError_t st = (expr);                                                        \
        if (st != cudaSuccess) {                                                        \
            std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(st)); \
            std::abort();                                                               \
        }                                                                               \
    } while (0)

constexpr int kMaxTaps = 32;
struct FlowTable {
    float taps[kMaxTaps];
    int count;
};

__constant__ FlowTable flowTable;

__global__ void expandPolynomial(const float* image, float* out, int n) {
    const FlowTable& table = flowTable;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float acc = 0.f;
    for (int t = 0; t < table.count; ++t) acc += table.taps[t] * image[(i + t) % n];
    out[i] = acc;
}

__global__ void updateFlow(const float* a, const float* b, float* flow, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) flow[i] += a[i] - b[i];
}

class DenseFlow {
public:
    DenseFlow(int pixels, int taps, float sigma) : n_(pixels) {
        table_.count = taps;
        for (int t = 0; t < taps; ++t) table_.taps[t] = std::exp(-t * t / (2.f * sigma * sigma));
        for (float** p : {&first_, &second_}) flowSafeCall(cudaMalloc(p, n_ * sizeof(float)));
    }
    ~DenseFlow() {
        cudaFree(first_);
        cudaFree(second_);
    }
    DenseFlow(const DenseFlow&) = delete;

    void calc(const float* prev, const float* next, float* flow, cudaStream_t stream) {
        const dim3 block(256), grid((n_ + 255) / 256);
        setConstants(stream);
        expand(prev, first_, grid, block, stream);
        expand(next, second_, grid, block, stream);
        updateFlow<<<grid, block, 0, stream>>>(first_, second_, flow, n_);
    }

private:
    void setConstants(cudaStream_t stream) {
        flowSafeCall(cudaMemcpyToSymbolAsync(flowTable, &table_, sizeof(table_), 0, cudaMemcpyHostToDevice, stream));
    }

    void expand(const float* in, float* out, dim3 grid, dim3 block, cudaStream_t stream) {
        expandPolynomial<<<grid, block, 0, stream>>>(in, out, n_);
    }

    int n_;
    FlowTable table_{};
    float* first_ = nullptr;
    float* second_ = nullptr;
};

class Camera {
public:
    Camera(int pixels, int taps, float sigma) : flow_(pixels, taps, sigma) {
        flowSafeCall(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (float** p : {&frames_[0], &frames_[1], &out_}) {
            flowSafeCall(cudaMalloc(p, pixels * sizeof(float)));
            flowSafeCall(cudaMemsetAsync(*p, 0, pixels * sizeof(float), stream_));
        }
    }
    ~Camera() {
        cudaStreamSynchronize(stream_);
        for (float* p : {frames_[0], frames_[1], out_}) cudaFree(p);
        cudaStreamDestroy(stream_);
    }
    void tick(int i) { flow_.calc(frames_[i & 1], frames_[(i + 1) & 1], out_, stream_); }
    void wait() { flowSafeCall(cudaStreamSynchronize(stream_)); }

private:
    DenseFlow flow_;
    cudaStream_t stream_{};
    float* frames_[2] = {};
    float* out_ = nullptr;
};

int main() {
    std::vector<std::unique_ptr<Camera>> rig;
    for (int c = 0; c < 3; ++c) rig.push_back(std::make_unique<Camera>(1 << 20, 5 + 4 * c, 1.0f + c));
    for (int i = 0; i < 50; ++i) {
        for (auto& cam : rig) cam->tick(i);
    }
    for (auto& cam : rig) cam->wait();
    return 0;
}
