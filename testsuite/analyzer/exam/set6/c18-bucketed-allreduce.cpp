#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define DDP(x)                                                     \
    do {                                                           \
        if ((x) != decltype(x)(0)) {                               \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, #x); \
            std::exit(1);                                          \
        }                                                          \
    } while (0)

namespace ddp {

struct Bucket {
    float* gradient = nullptr;
    size_t count = 0;
    cudaEvent_t filled{};
    cudaEvent_t reduced{};
};

class Reducer {
public:
    Reducer(ncclComm_t comm, const std::vector<size_t>& sizes) : comm_(comm) {
        DDP(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (size_t n : sizes) {
            Bucket b;
            b.count = n;
            DDP(cudaMalloc(reinterpret_cast<void**>(&b.gradient), n * sizeof(float)));
            DDP(cudaEventCreateWithFlags(&b.filled, cudaEventDisableTiming));
            DDP(cudaEventCreateWithFlags(&b.reduced, cudaEventDisableTiming));
            buckets_.push_back(b);
        }
    }
    ~Reducer() {
        cudaStreamSynchronize(stream_);
        for (Bucket& b : buckets_) {
            cudaEventDestroy(b.reduced);
            cudaEventDestroy(b.filled);
            cudaFree(b.gradient);
        }
        cudaStreamDestroy(stream_);
    }
    Reducer(const Reducer&) = delete;

    std::vector<Bucket>& buckets() { return buckets_; }

    void launch(Bucket& b, cudaStream_t producer) {
        DDP(cudaEventRecord(b.filled, producer));
        DDP(cudaStreamWaitEvent(stream_, b.filled, 0));
        DDP(ncclAllReduce(b.gradient, b.gradient, b.count, ncclFloat, ncclAvg, comm_, stream_));
        DDP(cudaEventRecord(b.reduced, stream_));
    }

    void finish(cudaStream_t consumer) {
        DDP(cudaStreamWaitEvent(consumer, buckets_.back().reduced, 0));
    }

private:
    ncclComm_t comm_;
    cudaStream_t stream_{};
    std::vector<Bucket> buckets_;
};

class Model {
public:
    Model(ncclComm_t comm, const std::vector<size_t>& sizes) : reducer_(comm, sizes) {
        DDP(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        DDP(cublasCreate(&blas_));
        DDP(cublasSetStream(blas_, compute_));
        for (size_t n : sizes) {
            float* w = nullptr;
            DDP(cudaMalloc(reinterpret_cast<void**>(&w), n * sizeof(float)));
            DDP(cudaMemsetAsync(w, 0, n * sizeof(float), compute_));
            weights_.push_back(w);
        }
    }
    ~Model() {
        DDP(cudaStreamSynchronize(compute_));
        cublasDestroy(blas_);
        for (float* w : weights_) cudaFree(w);
        cudaStreamDestroy(compute_);
    }

    void step(float rate) {
        auto& buckets = reducer_.buckets();
        for (size_t i = 0; i < buckets.size(); ++i) {
            backward(buckets[i], weights_[i]);
            reducer_.launch(buckets[i], compute_);
        }
        reducer_.finish(compute_);
        const float alpha = -rate;
        for (size_t i = 0; i < buckets.size(); ++i) {
            DDP(cublasSaxpy(blas_, static_cast<int>(buckets[i].count), &alpha, buckets[i].gradient, 1, weights_[i], 1));
        }
    }

private:
    void backward(Bucket& b, const float* weight) {
        DDP(cublasScopy(blas_, static_cast<int>(b.count), weight, 1, b.gradient, 1));
    }

    Reducer reducer_;
    cudaStream_t compute_{};
    cublasHandle_t blas_{};
    std::vector<float*> weights_;
};

}  // namespace ddp

void train(ncclComm_t comm, int steps) {
    ddp::Model model(comm, {1 << 20, 1 << 18, 1 << 16});
    for (int i = 0; i < steps; ++i) model.step(0.01f);
}
