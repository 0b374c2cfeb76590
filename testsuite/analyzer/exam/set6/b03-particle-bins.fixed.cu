#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <cstdio>
#include <cstdlib>

#define CHK(x)                                                   \
    if (cudaError_t e_ = (x); e_ != cudaSuccess) {               \
        std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e_)); \
        std::exit(2);                                            \
    }

__global__ void locate(const float3* pos, int* cells, float* mass, int n, float inv) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        cells[i] = static_cast<int>(pos[i].x * inv) & 1023;
        mass[i] = 1.0f;
    }
}

__global__ void normalise(const int* cell, const float* sum, float* density, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) density[cell[i]] = sum[i] * 0.125f;
}

class Exec {
public:
    explicit Exec(cudaStream_t s) : stream_(s) {}
    cudaStream_t stream() const { return stream_; }

    template <typename K, typename V>
    void sortPairs(K* keys, V* values, int n) const {
        thrust::sort_by_key(thrust::cuda::par.on(stream_), thrust::device_pointer_cast(keys),
                            thrust::device_pointer_cast(keys) + n, thrust::device_pointer_cast(values));
    }

    template <typename K, typename V>
    int reduceByCell(K* keys, V* values, K* outKeys, V* outValues, int n) const {
        auto k = thrust::device_pointer_cast(keys);
        auto ends = thrust::reduce_by_key(thrust::cuda::par.on(stream_), k, k + n, thrust::device_pointer_cast(values),
                                          thrust::device_pointer_cast(outKeys), thrust::device_pointer_cast(outValues));
        return static_cast<int>(ends.first - thrust::device_pointer_cast(outKeys));
    }

private:
    cudaStream_t stream_;
};

template <typename T>
struct DeviceArray {
    explicit DeviceArray(size_t n) : count(n) { CHK(cudaMalloc(&ptr, n * sizeof(T))); }
    ~DeviceArray() { cudaFree(ptr); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    T* ptr = nullptr;
    size_t count;
};

class DensityField {
public:
    DensityField(int particles, cudaStream_t s)
        : n_(particles), exec_(s), cells_(particles), mass_(particles), unique_(particles), sums_(particles), density_(1024) {}

    void deposit(const float3* pos) {
        assign(pos);
        const int used = compact();
        if (used > 0) normalise<<<(used + 255) / 256, 256, 0, exec_.stream()>>>(unique_.ptr, sums_.ptr, density_.ptr, used);
    }

    const float* density() const { return density_.ptr; }

private:
    void assign(const float3* pos) {
        CHK(cudaMemsetAsync(density_.ptr, 0, density_.count * sizeof(float), exec_.stream()));
        locate<<<(n_ + 255) / 256, 256, 0, exec_.stream()>>>(pos, cells_.ptr, mass_.ptr, n_, 32.0f);
    }

    int compact() {
        if (presorted_) return exec_.reduceByCell(cells_.ptr, mass_.ptr, unique_.ptr, sums_.ptr, n_);
        exec_.sortPairs(cells_.ptr, mass_.ptr, n_);
        return exec_.reduceByCell(cells_.ptr, mass_.ptr, unique_.ptr, sums_.ptr, n_);
    }

    int n_;
    bool presorted_ = true;
    Exec exec_;
    DeviceArray<int> cells_;
    DeviceArray<float> mass_;
    DeviceArray<int> unique_;
    DeviceArray<float> sums_;
    DeviceArray<float> density_;
};

int main() {
    constexpr int kParticles = 1 << 18;
    cudaStream_t s;
    CHK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    {
        DeviceArray<float3> pos(kParticles);
        CHK(cudaMemsetAsync(pos.ptr, 0, kParticles * sizeof(float3), s));
        DensityField field(kParticles, s);
        for (int step = 0; step < 10; ++step) field.deposit(pos.ptr);
        CHK(cudaStreamSynchronize(s));
    }
    cudaStreamDestroy(s);
    return 0;
}
