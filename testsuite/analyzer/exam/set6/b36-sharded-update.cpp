#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define RUN(x)                                                         \
    do {                                                               \
        if (!shard::good((x))) {                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            std::exit(1);                                              \
        }                                                              \
    } while (0)

namespace shard {

inline bool good(cudaError_t e) { return e == cudaSuccess; }
inline bool good(cublasStatus_t e) { return e == CUBLAS_STATUS_SUCCESS; }
inline bool good(ncclResult_t e) { return e == ncclSuccess; }

struct Lane {
    cudaStream_t stream{};
    cudaEvent_t mark{};
    Lane() {
        RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        RUN(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
    }
    ~Lane() {
        cudaStreamSynchronize(stream);
        cudaEventDestroy(mark);
        cudaStreamDestroy(stream);
    }
    Lane(const Lane&) = delete;
    void stamp() { RUN(cudaEventRecord(mark, stream)); }
    void follow(const Lane& other) { RUN(cudaStreamWaitEvent(stream, other.mark, 0)); }
};

class Parameters {
public:
    Parameters(int ranks, size_t shard) : ranks_(ranks), shard_(shard) {
        for (float** p : {&full_, &gradient_}) RUN(cudaMalloc(reinterpret_cast<void**>(p), sizeof(float) * shard * ranks));
        for (float** p : {&mine_, &mineGradient_}) RUN(cudaMalloc(reinterpret_cast<void**>(p), sizeof(float) * shard));
    }
    ~Parameters() {
        for (float* p : {full_, gradient_, mine_, mineGradient_}) cudaFree(p);
    }
    Parameters(const Parameters&) = delete;
    float* full() const { return full_; }
    float* gradient() const { return gradient_; }
    float* mine() const { return mine_; }
    float* mineGradient() const { return mineGradient_; }
    size_t shard() const { return shard_; }
    size_t total() const { return shard_ * ranks_; }

private:
    int ranks_;
    size_t shard_;
    float *full_ = nullptr, *gradient_ = nullptr, *mine_ = nullptr, *mineGradient_ = nullptr;
};

class ShardedOptimizer {
public:
    ShardedOptimizer(ncclComm_t reduce, ncclComm_t gather, int ranks, size_t shard)
        : reduceComm_(reduce), gatherComm_(gather), parameters_(ranks, shard) {
        RUN(cublasCreate(&blas_));
        RUN(cublasSetStream(blas_, reduce_.stream));
        RUN(cudaMemsetAsync(parameters_.mine(), 0, sizeof(float) * shard, reduce_.stream));
        RUN(cudaMemsetAsync(parameters_.gradient(), 0, sizeof(float) * parameters_.total(), reduce_.stream));
    }
    ~ShardedOptimizer() {
        RUN(cudaStreamSynchronize(reduce_.stream));
        RUN(cudaStreamSynchronize(gather_.stream));
        cublasDestroy(blas_);
    }

    void step(float rate) {
        reduce_.follow(gather_);
        reduceGradients();
        update(rate);
        publish();
    }

private:
    void reduceGradients() {
        RUN(ncclReduceScatter(parameters_.gradient(), parameters_.mineGradient(), parameters_.shard(), ncclFloat, ncclSum, reduceComm_,
                              reduce_.stream));
        reduce_.stamp();
    }

    void update(float rate) {
        const float alpha = -rate;
        RUN(cublasSaxpy(blas_, static_cast<int>(parameters_.shard()), &alpha, parameters_.mineGradient(), 1, parameters_.mine(), 1));
    }

    void publish() {
        gather_.follow(reduce_);
        RUN(ncclAllGather(parameters_.mine(), parameters_.full(), parameters_.shard(), ncclFloat, gatherComm_, gather_.stream));
        gather_.stamp();
    }

    ncclComm_t reduceComm_, gatherComm_;
    Parameters parameters_;
    Lane reduce_, gather_;
    cublasHandle_t blas_{};
};

}  // namespace shard

void train(ncclComm_t reduce, ncclComm_t gather, int ranks, int steps) {
    shard::ShardedOptimizer optimizer(reduce, gather, ranks, 1 << 20);
    for (int s = 0; s < steps; ++s) optimizer.step(0.01f);
}
