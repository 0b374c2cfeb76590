#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_ASSERT(x)                                                     \
    do {                                                                   \
        cudaError_t e = (x);                                               \
        if (e != cudaSuccess) {                                            \
            std::fprintf(stderr, "CUDA error %d at %d\n", int(e), __LINE__); \
            std::abort();                                                  \
        }                                                                  \
    } while (0)

#define BLAS_ASSERT(x)                                        \
    do {                                                      \
        if ((x) != CUBLAS_STATUS_SUCCESS) {                   \
            std::fprintf(stderr, "cuBLAS at %d\n", __LINE__); \
            std::abort();                                     \
        }                                                     \
    } while (0)

struct Tensor {
    float* data = nullptr;
    int rows = 0;
    int cols = 0;
    size_t bytes() const { return sizeof(float) * rows * cols; }
};

class Backend {
public:
    Backend() {
        CUDA_ASSERT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        BLAS_ASSERT(cublasCreate(&blas_));
        BLAS_ASSERT(cublasSetStream(blas_, stream_));
    }
    ~Backend() {
        cudaStreamSynchronize(stream_);
        cublasDestroy(blas_);
        cudaStreamDestroy(stream_);
    }
    Tensor alloc(int rows, int cols) {
        Tensor t;
        t.rows = rows;
        t.cols = cols;
        CUDA_ASSERT(cudaMalloc(reinterpret_cast<void**>(&t.data), t.bytes()));
        CUDA_ASSERT(cudaMemsetAsync(t.data, 0, t.bytes(), stream_));
        return t;
    }
    void free(Tensor& t) {
        cudaFree(t.data);
        t.data = nullptr;
    }
    void mulMat(const Tensor& w, const Tensor& x, Tensor& y) {
        const float one = 1.f, zero = 0.f;
        BLAS_ASSERT(cublasSgemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, w.cols, x.cols, w.rows, &one, w.data, w.rows, x.data, x.rows, &zero,
                                y.data, y.rows));
    }
    void getAsync(const Tensor& t, float* dst, int cols) {
        CUDA_ASSERT(cudaMemcpyAsync(dst, t.data, sizeof(float) * t.rows * cols, cudaMemcpyDeviceToHost, stream_));
    }
    void synchronize() { CUDA_ASSERT(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_{};
    cublasHandle_t blas_{};
};

class Sampler {
public:
    int greedy(const float* logits, int vocab) const {
        int best = 0;
        for (int v = 1; v < vocab; ++v) {
            if (logits[v] > logits[best]) best = v;
        }
        return best;
    }
};

class Context {
public:
    Context(Backend& be, int dim, int vocab, int ubatch, int maxTokens) : be_(be), vocab_(vocab), ubatch_(ubatch) {
        head_ = be_.alloc(dim, vocab);
        hidden_ = be_.alloc(dim, ubatch);
        out_ = be_.alloc(vocab, ubatch);
        CUDA_ASSERT(cudaMallocHost(reinterpret_cast<void**>(&logits_), sizeof(float) * vocab * maxTokens));
    }
    ~Context() {
        be_.synchronize();
        cudaFreeHost(logits_);
        be_.free(out_);
        be_.free(hidden_);
        be_.free(head_);
    }
    void decode(int tokens) {
        for (int done = 0; done < tokens; done += ubatch_) {
            const int n = tokens - done < ubatch_ ? tokens - done : ubatch_;
            be_.mulMat(head_, hidden_, out_);
            be_.getAsync(out_, logits_ + static_cast<size_t>(done) * vocab_, n);
        }
    }
    const float* logitsOf(int token) const { return logits_ + static_cast<size_t>(token) * vocab_; }

private:
    Backend& be_;
    int vocab_, ubatch_;
    Tensor head_, hidden_, out_;
    float* logits_ = nullptr;
};

int main() {
    constexpr int kVocab = 32000;
    Backend backend;
    Context context(backend, 2048, kVocab, 32, 128);
    Sampler sampler;
    std::vector<int> produced;
    for (int round = 0; round < 4; ++round) {
        context.decode(100);
        for (int t = 96; t < 100; ++t) {
            produced.push_back(sampler.greedy(context.logitsOf(t), kVocab));
        }
    }
    std::printf("%zu tokens\n", produced.size());
    return 0;
}
