// Lattice relaxation as a CUDA graph: the two sublattices are updated on a forked stream and
// the observables of every replay are collected by the host.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define A(x)                                                                            \
    do {                                                                                \
        cudaError_t e_ = (x);                                                           \
        if (e_ != cudaSuccess) {                                                        \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e_));    \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

constexpr int kSites = 1 << 16;

struct Controls {
    float beta;
    unsigned seed;
};

struct Observables {
    float magnetisation;
    float energy;
};

__device__ __forceinline__ float noise(unsigned s) {
    s ^= s >> 16;
    s *= 0x7feb352du;
    s ^= s >> 15;
    return (s >> 8) * (1.f / 16777216.f);
}

__global__ void flip(float* even, const float* odd, const Controls* c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kSites) return;
    const float field = odd[i] + odd[(i + 1) % kSites];
    const float p = 1.f / (1.f + __expf(-2.f * c->beta * field));
    even[i] = noise(c->seed ^ i) < p ? 1.f : -1.f;
}

__global__ void sum_spins(const float* even, const float* odd, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kSites) atomicAdd(out, (even[i] + odd[i]) / (2.f * kSites));
}

__global__ void sum_bonds(const float* even, const float* odd, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kSites) atomicAdd(out, -even[i] * odd[i] / kSites);
}

class Relaxation {
public:
    Relaxation() {
        A(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
        A(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
        A(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
        A(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
        A(cudaMalloc(&even_, kSites * sizeof(float)));
        A(cudaMalloc(&odd_, kSites * sizeof(float)));
        A(cudaMalloc(&controls_, sizeof(Controls)));
        A(cudaMalloc(&obs_, sizeof(Observables)));
        A(cudaMallocHost(&host_controls_, sizeof(Controls)));
        A(cudaMallocHost(&host_obs_, sizeof(Observables)));
        A(cudaMemsetAsync(even_, 0, kSites * sizeof(float), main_));
        A(cudaMemsetAsync(odd_, 0, kSites * sizeof(float), main_));
        build();
    }

    ~Relaxation() {
        cudaStreamSynchronize(main_);
        cudaGraphExecDestroy(exec_);
        cudaFree(even_);
        cudaFree(odd_);
        cudaFree(controls_);
        cudaFree(obs_);
        cudaFreeHost(host_controls_);
        cudaFreeHost(host_obs_);
        cudaEventDestroy(fork_);
        cudaEventDestroy(join_);
        cudaStreamDestroy(side_);
        cudaStreamDestroy(main_);
    }

    Relaxation(const Relaxation&) = delete;
    Relaxation& operator=(const Relaxation&) = delete;

    Observables step(float beta, unsigned seed) {
        *host_controls_ = Controls{beta, seed};
        A(cudaGraphLaunch(exec_, main_));
        A(cudaStreamSynchronize(main_));
        return *host_obs_;
    }

private:
    void build() {
        cudaGraph_t graph = nullptr;
        const int grid = kSites / 256;
        A(cudaStreamBeginCapture(main_, cudaStreamCaptureModeGlobal));
        A(cudaMemcpyAsync(controls_, host_controls_, sizeof(Controls), cudaMemcpyHostToDevice,
                          main_));
        A(cudaMemsetAsync(obs_, 0, sizeof(Observables), main_));
        flip<<<grid, 256, 0, main_>>>(even_, odd_, controls_);
        flip<<<grid, 256, 0, main_>>>(odd_, even_, controls_);
        A(cudaEventRecord(fork_, main_));
        A(cudaStreamWaitEvent(side_, fork_, 0));
        sum_bonds<<<grid, 256, 0, side_>>>(even_, odd_, &obs_->energy);
        A(cudaEventRecord(join_, side_));
        sum_spins<<<grid, 256, 0, main_>>>(even_, odd_, &obs_->magnetisation);
        A(cudaStreamWaitEvent(main_, join_, 0));
        A(cudaMemcpyAsync(host_obs_, obs_, sizeof(Observables), cudaMemcpyDeviceToHost, main_));
        A(cudaStreamEndCapture(main_, &graph));
        A(cudaGraphInstantiate(&exec_, graph, 0));
        A(cudaGraphDestroy(graph));
    }

    cudaStream_t main_ = nullptr, side_ = nullptr;
    cudaEvent_t fork_ = nullptr, join_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    float *even_ = nullptr, *odd_ = nullptr;
    Controls *controls_ = nullptr, *host_controls_ = nullptr;
    Observables *obs_ = nullptr, *host_obs_ = nullptr;
};

int main() {
    Relaxation lattice;
    Observables last{};
    for (int s = 0; s < 500; ++s) last = lattice.step(0.2f + 0.001f * s, 17u * s + 1u);
    std::printf("m = %.4f, e = %.4f\n", last.magnetisation, last.energy);
    return 0;
}
