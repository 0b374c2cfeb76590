#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define SLAB_CHECK(x)                                                       \
    do {                                                                    \
        cudaError_t sc = (x);                                               \
        if (sc != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s:%d\n", cudaGetErrorString(sc), __LINE__); \
            std::abort();                                                   \
        }                                                                   \
    } while (0)

__global__ void filterSlab(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] > 0.5f ? in[i] : 0.f;
}

template <typename T>
class PinnedArray {
public:
    explicit PinnedArray(size_t n) : n_(n) { SLAB_CHECK(cudaMallocHost(&p_, n * sizeof(T))); }
    ~PinnedArray() { cudaFreeHost(p_); }
    PinnedArray(const PinnedArray&) = delete;
    T* begin() { return p_; }
    T* end() { return p_ + n_; }
    T* at(size_t i) { return p_ + i; }

private:
    size_t n_;
    T* p_ = nullptr;
};

class ChunkedFilter {
public:
    ChunkedFilter(int n, int chunks) : chunk_(n / chunks), streams_(chunks) {
        for (auto& s : streams_) SLAB_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        SLAB_CHECK(cudaMalloc(&in_, n * sizeof(float)));
        SLAB_CHECK(cudaMalloc(&out_, n * sizeof(float)));
    }
    ~ChunkedFilter() {
        for (auto s : streams_) {
            cudaStreamSynchronize(s);
            cudaStreamDestroy(s);
        }
        cudaFree(out_);
        cudaFree(in_);
    }
    void run(PinnedArray<float>& source, PinnedArray<float>& result) {
        for (size_t c = 0; c < streams_.size(); ++c) upload(c, source);
        for (size_t c = 0; c < streams_.size(); ++c) {
            const size_t at = c * chunk_;
            filterSlab<<<(chunk_ + 255) / 256, 256, 0, streams_[c]>>>(in_ + at, out_ + at, chunk_);
        }
        for (size_t c = 0; c < streams_.size(); ++c) download(c, result);
        for (auto s : streams_) SLAB_CHECK(cudaStreamSynchronize(s));
    }

private:
    size_t bytes() const { return chunk_ * sizeof(float); }
    void upload(size_t c, PinnedArray<float>& source) {
        SLAB_CHECK(cudaMemcpyAsync(in_ + c * chunk_, source.at(c * chunk_), bytes(), cudaMemcpyHostToDevice, streams_[c]));
    }
    void download(size_t c, PinnedArray<float>& result) {
        SLAB_CHECK(cudaMemcpyAsync(result.at(c * chunk_), out_ + c * chunk_, bytes(), cudaMemcpyDeviceToHost, streams_[c]));
    }

    int chunk_;
    std::vector<cudaStream_t> streams_;
    float *in_ = nullptr, *out_ = nullptr;
};

int main() {
    constexpr int kTotal = 1 << 22;
    PinnedArray<float> source(kTotal), result(kTotal);
    ChunkedFilter filter(kTotal, 8);
    double sum = 0;
    for (int pass = 0; pass < 6; ++pass) {
        float v = 0.f;
        for (float& x : source) {
            v += 0.001f;
            x = v - static_cast<int>(v);
        }
        filter.run(source, result);
        for (float x : result) sum += x;
    }
    std::printf("%f\n", sum);
    return 0;
}
