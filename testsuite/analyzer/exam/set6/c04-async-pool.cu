#include <cuda_runtime.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace pool {

inline void must(cudaError_t rc) {
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

class Buffer {
public:
    Buffer(size_t bytes, cudaStream_t stream) : bytes_(bytes), last_(stream) { must(cudaMallocAsync(&data_, bytes, stream)); }
    Buffer(Buffer&& o) noexcept : bytes_(o.bytes_), last_(o.last_), data_(std::exchange(o.data_, nullptr)) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
        if (data_ != nullptr) cudaFreeAsync(data_, last_);
    }
    void handOver(cudaStream_t to, cudaEvent_t via) {
        if (to == last_) return;
        must(cudaEventRecord(via, last_));
        must(cudaStreamWaitEvent(to, via, 0));
        last_ = to;
    }
    template <typename T>
    T* as() const { return static_cast<T*>(data_); }
    size_t bytes() const { return bytes_; }

private:
    size_t bytes_;
    cudaStream_t last_;
    void* data_ = nullptr;
};

}  // namespace pool

__global__ void tokenise(int* out, int n, int seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (i * 31 + seed) & 0xffff;
}

__global__ void embed(const int* ids, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ids[i] * 0.001f;
}

__global__ void accumulate(const float* x, float* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) total[i] += x[i];
}

class StagedModel {
public:
    explicit StagedModel(int n) : n_(n) {
        for (cudaStream_t* s : {&tokens_, &embeddings_, &head_}) pool::must(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
        pool::must(cudaEventCreateWithFlags(&hand_, cudaEventDisableTiming));
        pool::must(cudaMalloc(&total_, n * sizeof(float)));
        pool::must(cudaMemsetAsync(total_, 0, n * sizeof(float), head_));
    }
    ~StagedModel() {
        for (cudaStream_t s : {tokens_, embeddings_, head_}) cudaStreamSynchronize(s);
        cudaFree(total_);
        cudaEventDestroy(hand_);
        for (cudaStream_t s : {tokens_, embeddings_, head_}) cudaStreamDestroy(s);
    }
    void forward(int seed) {
        pool::Buffer ids = produce(seed);
        ids.handOver(embeddings_, hand_);
        pool::Buffer x = lookup(std::move(ids));
        x.handOver(head_, hand_);
        accumulate<<<blocks(), 256, 0, head_>>>(x.as<float>(), total_, n_);
    }

private:
    int blocks() const { return (n_ + 255) / 256; }
    pool::Buffer produce(int seed) {
        pool::Buffer ids(n_ * sizeof(int), tokens_);
        tokenise<<<blocks(), 256, 0, tokens_>>>(ids.as<int>(), n_, seed);
        return ids;
    }
    pool::Buffer lookup(pool::Buffer ids) {
        pool::Buffer x(n_ * sizeof(float), embeddings_);
        embed<<<blocks(), 256, 0, embeddings_>>>(ids.as<int>(), x.as<float>(), n_);
        return x;
    }

    int n_;
    cudaStream_t tokens_{}, embeddings_{}, head_{};
    cudaEvent_t hand_{};
    float* total_ = nullptr;
};

int main() {
    StagedModel model(1 << 18);
    for (int i = 0; i < 100; ++i) model.forward(i);
    return 0;
}
