#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MOL_CHECK(x)                                                          \
    do {                                                                      \
        cudaError_t mol = (x);                                                \
        if (mol != cudaSuccess) {                                             \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(mol)); \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)

template <typename T>
class DeviceVector {
public:
    explicit DeviceVector(size_t n) : n_(n) { MOL_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
    ~DeviceVector() { cudaFree(p_); }
    DeviceVector(const DeviceVector&) = delete;
    T* get() const { return p_; }
    size_t size() const { return n_; }
    size_t bytes() const { return n_ * sizeof(T); }

private:
    size_t n_;
    T* p_ = nullptr;
};

class ScopedStream {
public:
    ScopedStream() { MOL_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
    ~ScopedStream() { cudaStreamDestroy(s_); }
    ScopedStream(const ScopedStream&) = delete;
    cudaStream_t stream() const { return s_; }

private:
    cudaStream_t s_{};
};

class ScopedEvent {
public:
    ScopedEvent() { MOL_CHECK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
    ~ScopedEvent() { cudaEventDestroy(e_); }
    ScopedEvent(const ScopedEvent&) = delete;
    void record(const ScopedStream& s) { MOL_CHECK(cudaEventRecord(e_, s.stream())); }
    void wait(const ScopedStream& s) { MOL_CHECK(cudaStreamWaitEvent(s.stream(), e_, 0)); }

private:
    cudaEvent_t e_{};
};

__global__ void countPairs(const float4* atoms, int* counts, int n, float cutoff) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = 0;
    for (int j = i + 1; j < n && j < i + 64; ++j) c += fabsf(atoms[i].x - atoms[j].x) < cutoff;
    counts[i] = c;
}

__global__ void scatterPairs(const float4* atoms, const int* offsets, int2* pairs, int n, float cutoff) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = offsets[i];
    for (int j = i + 1; j < n && j < i + 64; ++j) {
        if (fabsf(atoms[i].x - atoms[j].x) < cutoff) pairs[at++] = make_int2(i, j);
    }
}

class PairListBuilder {
public:
    explicit PairListBuilder(int atoms) : n_(atoms), counts_(atoms), offsets_(atoms), pairs_(static_cast<size_t>(atoms) * 64) {
        MOL_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, tempBytes_, counts_.get(), offsets_.get(), n_, scan_.stream()));
        MOL_CHECK(cudaMalloc(&temp_, tempBytes_));
    }
    ~PairListBuilder() {
        cudaStreamSynchronize(scan_.stream());
        cudaStreamSynchronize(build_.stream());
        cudaFree(temp_);
    }

    void build(const float4* atoms, float cutoff) {
        built_.wait(scan_);
        countPairs<<<(n_ + 127) / 128, 128, 0, scan_.stream()>>>(atoms, counts_.get(), n_, cutoff);
        MOL_CHECK(cub::DeviceScan::ExclusiveSum(temp_, tempBytes_, counts_.get(), offsets_.get(), n_, scan_.stream()));
        scanned_.record(scan_);
        scanned_.wait(build_);
        scatterPairs<<<(n_ + 127) / 128, 128, 0, build_.stream()>>>(atoms, offsets_.get(), pairs_.get(), n_, cutoff);
        built_.record(build_);
    }

private:
    int n_;
    ScopedStream scan_, build_;
    ScopedEvent scanned_, built_;
    DeviceVector<int> counts_, offsets_;
    DeviceVector<int2> pairs_;
    void* temp_ = nullptr;
    size_t tempBytes_ = 0;
};

int main() {
    constexpr int kAtoms = 1 << 16;
    DeviceVector<float4> atoms(kAtoms);
    MOL_CHECK(cudaMemset(atoms.get(), 0, atoms.bytes()));
    MOL_CHECK(cudaDeviceSynchronize());
    PairListBuilder builder(kAtoms);
    for (int i = 0; i < 10; ++i) builder.build(atoms.get(), 4.5f + 0.1f * i);
    return 0;
}
