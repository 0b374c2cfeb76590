#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace batched {

inline void check(cudaError_t rc) {
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void check(cublasStatus_t rc) {
    if (rc != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas status " + std::to_string(static_cast<int>(rc)));
}

class Lane {
public:
    static constexpr size_t kWorkspace = 4u << 20;
    Lane() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
        check(cudaMalloc(&workspace_, kWorkspace));
    }
    ~Lane() {
        cudaStreamSynchronize(stream_);
        cudaFree(workspace_);
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
    Lane(const Lane&) = delete;
    cudaStream_t stream() const { return stream_; }
    void* workspace() const { return workspace_; }
    void mark() { check(cudaEventRecord(done_, stream_)); }
    void waitFor(const Lane& other) const { check(cudaStreamWaitEvent(stream_, other.done_, 0)); }

private:
    cudaStream_t stream_{};
    cudaEvent_t done_{};
    void* workspace_ = nullptr;
};

class Blas {
public:
    Blas() { check(cublasCreate(&handle_)); }
    ~Blas() { cublasDestroy(handle_); }
    Blas(const Blas&) = delete;
    void gemm(const Lane& lane, const float* a, const float* b, float* c, int n, float beta) {
        check(cublasSetStream(handle_, lane.stream()));
        check(cublasSetWorkspace(handle_, lane.workspace(), Lane::kWorkspace));
        const float alpha = 1.0f;
        check(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, n, b, n, &beta, c, n));
    }

private:
    cublasHandle_t handle_{};
};

class SumOfProducts {
public:
    SumOfProducts(int n, int terms) : n_(n), lanes_(terms) {
        const size_t bytes = sizeof(float) * n * n;
        check(cudaMalloc(reinterpret_cast<void**>(&a_), bytes));
        check(cudaMemsetAsync(a_, 0, bytes, lanes_[0].stream()));
        lanes_[0].mark();
        for (int t = 0; t < terms; ++t) {
            float* p = nullptr;
            check(cudaMalloc(reinterpret_cast<void**>(&p), bytes));
            parts_.push_back(p);
        }
        check(cudaMalloc(reinterpret_cast<void**>(&sum_), bytes));
    }
    ~SumOfProducts() {
        for (auto& l : lanes_) cudaStreamSynchronize(l.stream());
        for (float* p : parts_) cudaFree(p);
        cudaFree(sum_);
        cudaFree(a_);
    }

    void evaluate() {
        for (size_t t = 0; t < lanes_.size(); ++t) {
            lanes_[t].waitFor(lanes_[0]);
            blas_.gemm(lanes_[t], a_, a_, parts_[t], n_, 0.0f);
            if (t > 0) lanes_[t].mark();
        }
        fold();
    }

private:
    void fold() {
        Lane& root = lanes_[0];
        for (size_t t = 0; t < lanes_.size(); ++t) {
            if (t > 0) root.waitFor(lanes_[t]);
            blas_.gemm(root, parts_[t], a_, sum_, n_, t == 0 ? 0.0f : 1.0f);
        }
        root.mark();
    }

    int n_;
    std::vector<Lane> lanes_;
    Blas blas_;
    float *a_ = nullptr, *sum_ = nullptr;
    std::vector<float*> parts_;
};

}  // namespace batched

int main() {
    batched::SumOfProducts job(512, 4);
    for (int i = 0; i < 16; ++i) job.evaluate();
    return 0;
}
