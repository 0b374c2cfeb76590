#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define PTDS_OK(x)                                                      \
    do {                                                                \
        cudaError_t p = (x);                                            \
        if (p != cudaSuccess) {                                         \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(p));        \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

struct Scale {
    float k;
    __host__ __device__ float operator()(float x) const { return x * k + 1.0f; }
};

__global__ void seedPart(float* part, int n, float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) part[i] = v;
}

class Partition {
public:
    Partition(float* base, int n, float seed) : base_(base), n_(n), seed_(seed) {}
    void work() const {
        seedPart<<<(n_ + 127) / 128, 128, 0, cudaStreamPerThread>>>(base_, n_, seed_);
        auto p = thrust::device_pointer_cast(base_);
        thrust::transform(thrust::cuda::par_nosync.on(cudaStreamPerThread), p, p + n_, p, Scale{0.5f});
    }

private:
    float* base_;
    int n_;
    float seed_;
};

class Table {
public:
    Table(int parts, int n) : parts_(parts), n_(n) { PTDS_OK(cudaMalloc(&data_, sizeof(float) * parts * n)); }
    ~Table() { cudaFree(data_); }
    Table(const Table&) = delete;

    float total(float seed) {
        std::vector<Partition> partitions;
        for (int p = 0; p < parts_; ++p) partitions.emplace_back(data_ + static_cast<size_t>(p) * n_, n_, seed + p);
        for (const auto& p : partitions) p.work();
        return sum();
    }

private:
    float sum() const {
        auto p = thrust::device_pointer_cast(data_);
        return thrust::reduce(thrust::cuda::par.on(cudaStreamLegacy), p, p + static_cast<size_t>(parts_) * n_, 0.0f);
    }

    int parts_, n_;
    float* data_ = nullptr;
};

int main() {
    Table table(4, 1 << 18);
    float s = 0.f;
    for (int i = 0; i < 5; ++i) s += table.total(static_cast<float>(i));
    std::printf("%f\n", s);
    PTDS_OK(cudaDeviceSynchronize());
    return 0;
}
