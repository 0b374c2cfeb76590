#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace infer {

inline void ok(cudaError_t rc) {
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void ok(cublasStatus_t rc) {
    if (rc != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas " + std::to_string(int(rc)));
}

class Workspace {
public:
    explicit Workspace(cudaStream_t stream) : stream_(stream) {}
    ~Workspace() {
        cudaStreamSynchronize(stream_);
        if (block_ != nullptr) cudaFree(block_);
        for (void* p : retired_) cudaFree(p);
    }
    Workspace(const Workspace&) = delete;

    void* reserve(size_t bytes) {
        if (bytes > size_) {
            ok(cudaStreamSynchronize(stream_));
            if (block_ != nullptr) ok(cudaFree(block_));
            ok(cudaMalloc(&block_, bytes));
            size_ = bytes;
        }
        return block_;
    }
    size_t size() const { return size_; }

private:
    cudaStream_t stream_;
    void* block_ = nullptr;
    size_t size_ = 0;
    std::vector<void*> retired_;
};

class Gemm {
public:
    explicit Gemm(cudaStream_t stream) : workspace_(stream) {
        ok(cublasCreate(&handle_));
        ok(cublasSetStream(handle_, stream));
    }
    ~Gemm() { cublasDestroy(handle_); }

    void prepare(int n) {
        void* p = workspace_.reserve(static_cast<size_t>(n) * 4096);
        ok(cublasSetWorkspace(handle_, p, workspace_.size()));
    }

    void multiply(const float* a, const float* b, float* c, int n) {
        const float alpha = 1.0f, beta = 0.0f;
        ok(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, n, b, n, &beta, c, n));
    }

private:
    Workspace workspace_;
    cublasHandle_t handle_{};
};

class Server {
public:
    explicit Server(int largest) {
        ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        gemm_ = new Gemm(stream_);
        const size_t bytes = sizeof(float) * largest * largest;
        for (float** p : {&a_, &b_, &c_}) {
            ok(cudaMalloc(reinterpret_cast<void**>(p), bytes));
            ok(cudaMemsetAsync(*p, 0, bytes, stream_));
        }
    }
    ~Server() {
        cudaStreamSynchronize(stream_);
        for (auto& g : graphs_) cudaGraphExecDestroy(g.second);
        delete gemm_;
        for (float* p : {a_, b_, c_}) cudaFree(p);
        cudaStreamDestroy(stream_);
    }

    void warm(int n) {
        gemm_->prepare(n);
        gemm_->multiply(a_, b_, c_, n);
        ok(cudaStreamSynchronize(stream_));
        cudaGraph_t graph = nullptr;
        ok(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
        gemm_->multiply(a_, b_, c_, n);
        ok(cudaStreamEndCapture(stream_, &graph));
        ok(cudaGraphInstantiate(&graphs_[n], graph, 0));
        ok(cudaGraphDestroy(graph));
    }

    void request(int n) {
        auto graph = graphs_.find(n);
        if (graph != graphs_.end()) {
            ok(cudaGraphLaunch(graph->second, stream_));
        } else {
            gemm_->prepare(n);
            gemm_->multiply(a_, b_, c_, n);
        }
    }
    void wait() { ok(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_{};
    Gemm* gemm_ = nullptr;
    std::map<int, cudaGraphExec_t> graphs_;
    float *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

}  // namespace infer

int main() {
    infer::Server server(2048);
    for (int n : {256, 512}) server.warm(n);
    for (int i = 0; i < 64; ++i) server.request(i % 5 == 4 ? 2048 : 512);
    server.wait();
    return 0;
}
