// Benchmark: quantile sketches of many sensors. Each round sorts short runs and merges pairs of
// runs. The merge is launched as a dependent grid so that its prologue hides behind the tail of
// the sort.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                       \
    do {                                                                            \
        cudaError_t r_ = (x);                                                       \
        if (r_ != cudaSuccess) {                                                    \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r_)); \
            std::exit(2);                                                           \
        }                                                                           \
    } while (0)

constexpr int kRun = 128;

struct RunInfo {
    float lowest;
    float highest;
    int valid;
};

__device__ __forceinline__ void wait_for_primary() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void let_dependents_start() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void sort_runs(const float* samples, float* runs, RunInfo* info) {
    __shared__ float s[kRun];
    let_dependents_start();
    const int t = threadIdx.x;
    s[t] = samples[blockIdx.x * kRun + t];
    __syncthreads();
    for (int phase = 0; phase < kRun; ++phase) {
        const int i = 2 * t + (phase & 1);
        if (i + 1 < kRun && s[i] > s[i + 1]) {
            const float tmp = s[i];
            s[i] = s[i + 1];
            s[i + 1] = tmp;
        }
        __syncthreads();
    }
    runs[blockIdx.x * kRun + t] = s[t];
    if (t == 0) {
        info[blockIdx.x] = RunInfo{s[0], s[kRun - 1], kRun};
    }
}

__device__ __forceinline__ bool already_ordered(const RunInfo* info, int pair) {
    const RunInfo left = info[2 * pair];
    const RunInfo right = info[2 * pair + 1];
    return left.highest <= right.lowest;
}

__global__ void merge_pairs(const float* runs, const RunInfo* info, float* merged) {
    const int pair = blockIdx.x;
    const int t = threadIdx.x;
    const float* a = runs + 2 * pair * kRun;
    const float* b = a + kRun;
    float* out = merged + 2 * pair * kRun;

    wait_for_primary();
    const bool plain_copy = already_ordered(info, pair);
    if (plain_copy) {
        out[t] = a[t];
        out[t + kRun] = b[t];
        return;
    }
    int below_a = 0, below_b = 0;
    for (int k = 0; k < kRun; ++k) {
        below_a += b[k] < a[t];
        below_b += a[k] <= b[t];
    }
    out[t + below_a] = a[t];
    out[t + below_b] = b[t];
}

static void launch_merge(cudaStream_t stream, int pairs, const float* runs, const RunInfo* info,
                         float* merged) {
    cudaLaunchAttribute attr[1];
    attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = dim3(pairs);
    cfg.blockDim = dim3(kRun);
    cfg.stream = stream;
    cfg.attrs = attr;
    cfg.numAttrs = 1;
    CK(cudaLaunchKernelEx(&cfg, merge_pairs, runs, info, merged));
}

int main(int argc, char** argv) {
    const int pairs = argc > 1 ? std::atoi(argv[1]) : 4096;
    const int rounds = 50;
    const size_t count = size_t(pairs) * 2 * kRun;

    float *samples, *runs, *merged, *host;
    RunInfo* info;
    cudaStream_t stream;
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaMalloc(&samples, count * sizeof(float)));
    CK(cudaMalloc(&runs, count * sizeof(float)));
    CK(cudaMalloc(&merged, count * sizeof(float)));
    CK(cudaMalloc(&info, size_t(pairs) * 2 * sizeof(RunInfo)));
    CK(cudaMallocHost(&host, count * sizeof(float)));

    long disorder = 0;
    for (int r = 0; r < rounds; ++r) {
        for (size_t i = 0; i < count; ++i) host[i] = float(std::rand()) / float(RAND_MAX);
        CK(cudaMemcpyAsync(samples, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
        sort_runs<<<2 * pairs, kRun, 0, stream>>>(samples, runs, info);
        CK(cudaGetLastError());
        launch_merge(stream, pairs, runs, info, merged);
        CK(cudaMemcpyAsync(host, merged, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
        CK(cudaStreamSynchronize(stream));
        for (size_t i = 1; i < count; ++i) {
            if (i % (2 * kRun) != 0 && host[i - 1] > host[i]) ++disorder;
        }
    }
    std::printf("%d rounds, %ld inversions\n", rounds, disorder);

    CK(cudaFreeHost(host));
    CK(cudaFree(samples));
    CK(cudaFree(runs));
    CK(cudaFree(merged));
    CK(cudaFree(info));
    CK(cudaStreamDestroy(stream));
    return disorder == 0 ? 0 : 1;
}
