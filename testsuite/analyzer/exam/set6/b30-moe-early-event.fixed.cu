#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(op)                                                                    \
    do {                                                                            \
        const cudaError_t must_rc = (op);                                           \
        if (must_rc != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s: %s\n", #op, cudaGetErrorString(must_rc));     \
            std::exit(EXIT_FAILURE);                                                \
        }                                                                           \
    } while (0)

__global__ void routeTokens(const float* logits, int* counts, int* permutation, int experts, int tokens) {
    const int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 32 && threadIdx.x < experts) counts[blockIdx.x * experts + threadIdx.x] = 0;
    cudaTriggerProgrammaticLaunchCompletion();
    if (token >= tokens) return;
    int best = 0;
    for (int e = 1; e < experts; ++e) {
        if (logits[token * experts + e] > logits[token * experts + best]) best = e;
    }
    permutation[token] = best;
}

__global__ void combineExperts(const float* hidden, const int* permutation, float* out, int width, int tokens) {
    const int token = blockIdx.x;
    if (token < tokens) {
        for (int c = threadIdx.x; c < width; c += blockDim.x) out[token * width + c] = hidden[token * width + c] * permutation[token];
    }
}

class RoutingPhase {
public:
    RoutingPhase(int experts, int tokens) : experts_(experts), tokens_(tokens), blocks_((tokens + 127) / 128) {
        MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        MUST(cudaEventCreateWithFlags(&routed_, cudaEventDisableTiming));
        MUST(cudaMalloc(&logits_, sizeof(float) * experts * tokens));
        MUST(cudaMalloc(&counts_, sizeof(int) * experts * blocks_));
        MUST(cudaMalloc(&permutation_, sizeof(int) * tokens));
        MUST(cudaMemsetAsync(logits_, 0, sizeof(float) * experts * tokens, stream_));
    }
    ~RoutingPhase() {
        cudaStreamSynchronize(stream_);
        cudaFree(permutation_);
        cudaFree(counts_);
        cudaFree(logits_);
        cudaEventDestroy(routed_);
        cudaStreamDestroy(stream_);
    }

    void run() {
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(blocks_);
        config.blockDim = dim3(128);
        config.stream = stream_;
        MUST(cudaLaunchKernelEx(&config, routeTokens, (const float*)logits_, counts_, permutation_, experts_, tokens_));
        MUST(cudaEventRecord(routed_, stream_));
    }

    cudaEvent_t routed() const { return routed_; }
    const int* permutation() const { return permutation_; }
    void after(cudaEvent_t e) { MUST(cudaStreamWaitEvent(stream_, e, 0)); }

private:
    int experts_, tokens_, blocks_;
    cudaStream_t stream_{};
    cudaEvent_t routed_{};
    float* logits_ = nullptr;
    int* counts_ = nullptr;
    int* permutation_ = nullptr;
};

class CombinePhase {
public:
    CombinePhase(int width, int tokens) : width_(width), tokens_(tokens) {
        MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        MUST(cudaEventCreateWithFlags(&combined_, cudaEventDisableTiming));
        for (float** p : {&hidden_, &out_}) MUST(cudaMalloc(p, sizeof(float) * width * tokens));
        MUST(cudaMemsetAsync(hidden_, 0, sizeof(float) * width * tokens, stream_));
    }
    ~CombinePhase() {
        cudaStreamSynchronize(stream_);
        cudaFree(out_);
        cudaFree(hidden_);
        cudaEventDestroy(combined_);
        cudaStreamDestroy(stream_);
    }
    void run(const RoutingPhase& routing) {
        MUST(cudaStreamWaitEvent(stream_, routing.routed(), 0));
        combineExperts<<<tokens_, 128, 0, stream_>>>(hidden_, routing.permutation(), out_, width_, tokens_);
        MUST(cudaEventRecord(combined_, stream_));
    }
    cudaEvent_t combined() const { return combined_; }

private:
    int width_, tokens_;
    cudaStream_t stream_{};
    cudaEvent_t combined_{};
    float *hidden_ = nullptr, *out_ = nullptr;
};

int main() {
    RoutingPhase routing(8, 4096);
    CombinePhase combine(2048, 4096);
    for (int layer = 0; layer < 24; ++layer) {
        routing.run();
        combine.run(routing);
        routing.after(combine.combined());
    }
    MUST(cudaDeviceSynchronize());
    return 0;
}
