#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define PEER_OK(x)                                                                      \
    do {                                                                                \
        const cudaError_t prc = (x);                                                    \
        if (prc != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(prc)); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

__global__ void route(float* out, int n, float seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = seed + i * 1e-6f;
}

__global__ void reduceWindow(const float* window, float* result, int n, int peers) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.f;
    for (int p = 0; p < peers; ++p) sum += window[p * n + i];
    result[i] = sum;
}

class Rank {
public:
    Rank(int device, int world, int n) : device_(device), world_(world), n_(n) {
        PEER_OK(cudaSetDevice(device_));
        PEER_OK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        PEER_OK(cudaStreamCreateWithFlags(&comm_, cudaStreamNonBlocking));
        for (cudaEvent_t* e : {&routed_, &sent_, &combined_}) PEER_OK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
        PEER_OK(cudaMalloc(&tokens_, n * sizeof(float)));
        PEER_OK(cudaMalloc(&result_, n * sizeof(float)));
        PEER_OK(cudaMalloc(&window_, static_cast<size_t>(world) * n * sizeof(float)));
    }
    ~Rank() {
        cudaSetDevice(device_);
        cudaDeviceSynchronize();
        for (float* p : {tokens_, result_, window_}) cudaFree(p);
        for (cudaEvent_t e : {routed_, sent_, combined_}) cudaEventDestroy(e);
        cudaStreamDestroy(comm_);
        cudaStreamDestroy(compute_);
    }
    Rank(const Rank&) = delete;

    void produce(float seed) {
        PEER_OK(cudaSetDevice(device_));
        PEER_OK(cudaStreamWaitEvent(compute_, sent_, 0));
        route<<<(n_ + 255) / 256, 256, 0, compute_>>>(tokens_, n_, seed);
        PEER_OK(cudaEventRecord(routed_, compute_));
        PEER_OK(cudaStreamWaitEvent(comm_, routed_, 0));
    }

    void fill(const std::vector<std::unique_ptr<Rank>>& ranks) {
        PEER_OK(cudaSetDevice(device_));
        for (const auto& peer : ranks) {
            put(*peer);
        }
        PEER_OK(cudaEventRecord(sent_, comm_));
    }

    void combine(const std::vector<std::unique_ptr<Rank>>& ranks) {
        PEER_OK(cudaSetDevice(device_));
        for (const auto& peer : ranks) PEER_OK(cudaStreamWaitEvent(compute_, peer->sent_, 0));
        reduceWindow<<<(n_ + 255) / 256, 256, 0, compute_>>>(window_, result_, n_, world_);
        PEER_OK(cudaEventRecord(combined_, compute_));
    }

    void wait() {
        PEER_OK(cudaSetDevice(device_));
        PEER_OK(cudaStreamSynchronize(compute_));
        PEER_OK(cudaStreamSynchronize(comm_));
    }

private:
    void put(const Rank& peer) {
        float* slot = peer.window_ + static_cast<size_t>(device_) * n_;
        PEER_OK(cudaMemcpyPeerAsync(slot, peer.device_, tokens_, device_, n_ * sizeof(float), comm_));
    }

    int device_, world_, n_;
    cudaStream_t compute_{}, comm_{};
    cudaEvent_t routed_{}, sent_{}, combined_{};
    float *tokens_ = nullptr, *result_ = nullptr, *window_ = nullptr;
};

class ExpertGroup {
public:
    ExpertGroup(int world, int n) {
        for (int d = 0; d < world; ++d) ranks_.push_back(std::make_unique<Rank>(d, world, n));
    }
    void round(int step) {
        for (auto& r : ranks_) r->produce(static_cast<float>(step));
        for (auto& r : ranks_) r->fill(ranks_);
        for (auto& r : ranks_) r->combine(ranks_);
    }
    void wait() {
        for (auto& r : ranks_) r->wait();
    }

private:
    std::vector<std::unique_ptr<Rank>> ranks_;
};

int main() {
    int world = 0;
    PEER_OK(cudaGetDeviceCount(&world));
    if (world < 2) return 0;
    ExpertGroup group(world, 1 << 20);
    for (int step = 0; step < 32; ++step) group.round(step);
    group.wait();
    return 0;
}
