#include <cuda_runtime.h>

#include <functional>
#include <iostream>
#include <vector>

#define CAP(x)                                                              \
    do {                                                                    \
        const cudaError_t cap_rc = (x);                                     \
        if (cap_rc != cudaSuccess) {                                        \
            std::cerr << #x << ": " << cudaGetErrorString(cap_rc) << "\n";  \
            std::exit(1);                                                   \
        }                                                                   \
    } while (0)

__global__ void branch(const float* in, float* out, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * k + 1.0f;
}

__global__ void join(const float* parts, float* out, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f;
    for (int p = 0; p < count; ++p) s += parts[p * n + i];
    out[i] = s;
}

class BranchGraph {
public:
    BranchGraph(int n, int branches) : n_(n), sides_(branches), ends_(branches) {
        CAP(cudaStreamCreateWithFlags(&origin_, cudaStreamNonBlocking));
        CAP(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
        for (int b = 0; b < branches; ++b) {
            CAP(cudaStreamCreateWithFlags(&sides_[b], cudaStreamNonBlocking));
            CAP(cudaEventCreateWithFlags(&ends_[b], cudaEventDisableTiming));
        }
        CAP(cudaMalloc(&in_, n * sizeof(float)));
        CAP(cudaMalloc(&parts_, sizeof(float) * n * branches));
        CAP(cudaMalloc(&out_, n * sizeof(float)));
        CAP(cudaMallocHost(&host_, n * sizeof(float)));
        capture([this](cudaStream_t s) { body(s); });
    }
    ~BranchGraph() {
        cudaStreamSynchronize(origin_);
        cudaGraphExecDestroy(exec_);
        cudaFreeHost(host_);
        for (float* p : {in_, parts_, out_}) cudaFree(p);
        for (auto e : ends_) cudaEventDestroy(e);
        for (auto s : sides_) cudaStreamDestroy(s);
        cudaEventDestroy(fork_);
        cudaStreamDestroy(origin_);
    }
    float replay(float value) {
        for (int i = 0; i < n_; ++i) host_[i] = value;
        CAP(cudaMemcpyAsync(in_, host_, n_ * sizeof(float), cudaMemcpyHostToDevice, origin_));
        CAP(cudaGraphLaunch(exec_, origin_));
        CAP(cudaMemcpyAsync(host_, out_, n_ * sizeof(float), cudaMemcpyDeviceToHost, origin_));
        CAP(cudaStreamSynchronize(origin_));
        return host_[n_ / 2];
    }

private:
    void body(cudaStream_t s) {
        CAP(cudaEventRecord(fork_, s));
        for (size_t b = 0; b < sides_.size(); ++b) {
            CAP(cudaStreamWaitEvent(sides_[b], fork_, 0));
            branch<<<(n_ + 255) / 256, 256, 0, sides_[b]>>>(in_, parts_ + b * n_, n_, 0.5f * b);
            CAP(cudaEventRecord(ends_[b], sides_[b]));
        }
        for (auto e : ends_) CAP(cudaStreamWaitEvent(s, e, 0));
        join<<<(n_ + 255) / 256, 256, 0, s>>>(parts_, out_, n_, static_cast<int>(sides_.size()));
    }

    void capture(const std::function<void(cudaStream_t)>& fn) {
        cudaGraph_t graph{};
        CAP(cudaStreamBeginCapture(origin_, cudaStreamCaptureModeGlobal));
        fn(origin_);
        CAP(cudaStreamEndCapture(origin_, &graph));
        CAP(cudaGraphInstantiate(&exec_, graph, 0));
        CAP(cudaGraphDestroy(graph));
    }

    int n_;
    cudaStream_t origin_{};
    std::vector<cudaStream_t> sides_;
    std::vector<cudaEvent_t> ends_;
    cudaEvent_t fork_{};
    cudaGraphExec_t exec_{};
    float *in_ = nullptr, *parts_ = nullptr, *out_ = nullptr, *host_ = nullptr;
};

int main() {
    BranchGraph graph(1 << 18, 4);
    float sum = 0.f;
    for (int i = 0; i < 10; ++i) sum += graph.replay(static_cast<float>(i));
    std::cout << sum << "\n";
    return 0;
}
