#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define CUDA_DO(...)                                                                       \
    do {                                                                                   \
        if (cudaError_t err = (__VA_ARGS__); err != cudaSuccess) {                         \
            std::fprintf(stderr, "%s -> %s\n", #__VA_ARGS__, cudaGetErrorString(err));     \
            std::abort();                                                                  \
        }                                                                                  \
    } while (0)

__global__ void applyLayer(const float* w, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * w[i] + w[(i + 1) % n];
}

class BlockCache {
public:
    ~BlockCache() {
        for (auto& entry : idle_) cudaFree(entry.second);
    }
    float* take(size_t bytes) {
        auto it = idle_.find(bytes);
        if (it != idle_.end()) {
            float* p = it->second;
            idle_.erase(it);
            return p;
        }
        float* p = nullptr;
        CUDA_DO(cudaMalloc(&p, bytes));
        return p;
    }
    void give(float* p, size_t bytes) { idle_.emplace(bytes, p); }

private:
    std::multimap<size_t, float*> idle_;
};

struct LayerGroup {
    std::string file;
    float* host = nullptr;
    float* device = nullptr;
    int n = 0;
    bool dirty = false;
    size_t bytes() const { return n * sizeof(float); }
};

class GroupOffloader {
public:
    GroupOffloader(cudaStream_t compute, bool toDisk) : compute_(compute), toDisk_(toDisk) {
        CUDA_DO(cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking));
        CUDA_DO(cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming));
    }
    ~GroupOffloader() {
        cudaStreamSynchronize(transfer_);
        cudaEventDestroy(loaded_);
        cudaStreamDestroy(transfer_);
    }

    void onload(LayerGroup& g) {
        g.device = cache_.take(g.bytes());
        CUDA_DO(cudaMemcpyAsync(g.device, g.host, g.bytes(), cudaMemcpyHostToDevice, transfer_));
        CUDA_DO(cudaEventRecord(loaded_, transfer_));
        CUDA_DO(cudaStreamWaitEvent(compute_, loaded_, 0));
    }

    void offload(LayerGroup& g) {
        if (toDisk_) {
            offloadToDisk(g);
        } else {
            offloadToMemory(g);
        }
    }

private:
    void offloadToMemory(LayerGroup& g) {
        CUDA_DO(cudaStreamSynchronize(compute_));
        if (g.dirty) CUDA_DO(cudaMemcpy(g.host, g.device, g.bytes(), cudaMemcpyDeviceToHost));
        release(g);
    }

    void offloadToDisk(LayerGroup& g) {
        CUDA_DO(cudaStreamSynchronize(compute_));
        release(g);
    }

    void release(LayerGroup& g) {
        cache_.give(g.device, g.bytes());
        g.device = nullptr;
    }

    cudaStream_t compute_;
    cudaStream_t transfer_{};
    cudaEvent_t loaded_{};
    bool toDisk_;
    BlockCache cache_;
};

class Denoiser {
public:
    Denoiser(int layers, int n) : n_(n) {
        CUDA_DO(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CUDA_DO(cudaMalloc(&x_, n * sizeof(float)));
        CUDA_DO(cudaMemsetAsync(x_, 0, n * sizeof(float), compute_));
        groups_.resize(layers);
        for (int i = 0; i < layers; ++i) {
            groups_[i].file = "layer" + std::to_string(i) + ".safetensors";
            groups_[i].n = n;
            CUDA_DO(cudaMallocHost(&groups_[i].host, groups_[i].bytes()));
            for (int j = 0; j < n; ++j) groups_[i].host[j] = 0.01f * (i + 1);
        }
        offloader_ = std::make_unique<GroupOffloader>(compute_, true);
    }
    ~Denoiser() {
        cudaStreamSynchronize(compute_);
        offloader_.reset();
        for (auto& g : groups_) cudaFreeHost(g.host);
        cudaFree(x_);
        cudaStreamDestroy(compute_);
    }
    void step() {
        for (auto& g : groups_) {
            offloader_->onload(g);
            applyLayer<<<(n_ + 255) / 256, 256, 0, compute_>>>(g.device, x_, n_);
            offloader_->offload(g);
        }
    }

private:
    int n_;
    cudaStream_t compute_{};
    float* x_ = nullptr;
    std::vector<LayerGroup> groups_;
    std::unique_ptr<GroupOffloader> offloader_;
};

int main() {
    Denoiser d(6, 1 << 20);
    for (int i = 0; i < 30; ++i) d.step();
    return 0;
}
