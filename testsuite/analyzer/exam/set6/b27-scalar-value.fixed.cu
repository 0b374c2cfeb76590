#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#define RAFTISH_TRY(c)                                                       \
    do {                                                                     \
        if ((c) != cudaSuccess) throw std::runtime_error("cuda failure: " #c); \
    } while (0)

template <typename T>
class device_scalar {
public:
    explicit device_scalar(cudaStream_t stream) {
        RAFTISH_TRY(cudaMalloc(&ptr_, sizeof(T)));
        RAFTISH_TRY(cudaMallocHost(&host_, sizeof(T)));
        zero(stream);
    }
    ~device_scalar() {
        cudaFreeHost(host_);
        cudaFree(ptr_);
    }
    device_scalar(const device_scalar&) = delete;

    T* data() { return ptr_; }
    void zero(cudaStream_t stream) { RAFTISH_TRY(cudaMemsetAsync(ptr_, 0, sizeof(T), stream)); }
    T value(cudaStream_t stream = nullptr) const {
        RAFTISH_TRY(cudaMemcpyAsync(host_, ptr_, sizeof(T), cudaMemcpyDeviceToHost, stream));
        RAFTISH_TRY(cudaStreamSynchronize(stream));
        return *host_;
    }

private:
    T* ptr_ = nullptr;
    T* host_ = nullptr;
};

class handle {
public:
    handle() { RAFTISH_TRY(cudaStreamCreate(&stream_)); }
    ~handle() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    handle(const handle&) = delete;
    cudaStream_t get_stream() const { return stream_; }

private:
    cudaStream_t stream_{};
};

__global__ void assignPoints(const float* x, const float* centres, int k, int n, float* inertia) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.4e38f;
    for (int c = 0; c < k; ++c) best = fminf(best, (x[i] - centres[c]) * (x[i] - centres[c]));
    atomicAdd(inertia, best);
}

__global__ void moveCentres(float* centres, int k, float rate) {
    if (threadIdx.x < k) centres[threadIdx.x] *= 1.0f - rate;
}

class KMeans {
public:
    KMeans(const handle& h, int n, int k) : h_(h), n_(n), k_(k), inertia_(h.get_stream()) {
        RAFTISH_TRY(cudaMalloc(&x_, n * sizeof(float)));
        RAFTISH_TRY(cudaMalloc(&centres_, k * sizeof(float)));
        RAFTISH_TRY(cudaMemsetAsync(x_, 0, n * sizeof(float), h.get_stream()));
        RAFTISH_TRY(cudaMemsetAsync(centres_, 1, k * sizeof(float), h.get_stream()));
    }
    ~KMeans() {
        cudaStreamSynchronize(h_.get_stream());
        cudaFree(centres_);
        cudaFree(x_);
    }
    int fit(int maxIterations, float tolerance) {
        float last = HUGE_VALF;
        for (int it = 0; it < maxIterations; ++it) {
            const float now = iterate();
            if (std::fabs(last - now) < tolerance) return it;
            last = now;
        }
        return maxIterations;
    }

private:
    float iterate() {
        inertia_.zero(h_.get_stream());
        assignPoints<<<(n_ + 255) / 256, 256, 0, h_.get_stream()>>>(x_, centres_, k_, n_, inertia_.data());
        moveCentres<<<1, 64, 0, h_.get_stream()>>>(centres_, k_, 0.1f);
        return inertia_.value(h_.get_stream());
    }

    const handle& h_;
    int n_, k_;
    device_scalar<float> inertia_;
    float* x_ = nullptr;
    float* centres_ = nullptr;
};

int main() {
    handle a, b;
    KMeans first(a, 1 << 20, 16), second(b, 1 << 18, 8);
    std::printf("%d %d\n", first.fit(50, 1e-4f), second.fit(50, 1e-4f));
    return 0;
}
