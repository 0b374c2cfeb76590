#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#define TRY(call)                                                        \
    do {                                                                 \
        cudaError_t status__ = (call);                                   \
        if (status__ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status__)); \
    } while (false)

struct Stream {
    cudaStream_t s{};
    Stream() { TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(s); }
    Stream(const Stream&) = delete;
    operator cudaStream_t() const { return s; }
};

struct Event {
    cudaEvent_t e{};
    Event() { TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(e); }
    Event(const Event&) = delete;
    void record(cudaStream_t s) { TRY(cudaEventRecord(e, s)); }
    void holdBack(cudaStream_t s) const { TRY(cudaStreamWaitEvent(s, e, 0)); }
    void wait() const { TRY(cudaEventSynchronize(e)); }
};

__global__ void writePrompt(float* block, const int* tokens, int first, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width) block[i] = tokens[first + i % 16] * 0.5f;
}

__global__ void appendToken(float* block, int slot, float value) {
    block[slot * blockDim.x + threadIdx.x] = value;
}

class BlockPool {
public:
    BlockPool(int blocks, int width) : width_(width) {
        TRY(cudaMalloc(&base_, static_cast<size_t>(blocks) * width * sizeof(float)));
    }
    ~BlockPool() { cudaFree(base_); }
    float* block(int id) const { return base_ + static_cast<size_t>(id) * width_; }
    int width() const { return width_; }

private:
    float* base_ = nullptr;
    int width_;
};

class Engine {
public:
    explicit Engine(BlockPool& pool) : pool_(pool) {
        TRY(cudaMalloc(&tokens_, 4096 * sizeof(int)));
        TRY(cudaMemset(tokens_, 0, 4096 * sizeof(int)));
        TRY(cudaDeviceSynchronize());
    }
    ~Engine() { cudaFree(tokens_); }

    void prefill(const std::vector<int>& ids) {
        for (size_t i = 0; i < ids.size(); ++i) {
            writePrompt<<<(pool_.width() + 127) / 128, 128, 0, prefill_>>>(pool_.block(ids[i]), tokens_, int(i) * 16, pool_.width());
        }
        prefillDone.record(prefill_);
    }

    void decode(int id, int slot) {
        appendToken<<<1, 64, 0, decode_>>>(pool_.block(id), slot, 1.0f);
        decodeDone.record(decode_);
    }

    Event prefillDone, decodeDone;

private:
    BlockPool& pool_;
    Stream prefill_, decode_;
    int* tokens_ = nullptr;
};

class KvOffloader {
public:
    KvOffloader(BlockPool& pool, int capacity) : pool_(pool) {
        TRY(cudaMallocHost(&host_, static_cast<size_t>(capacity) * pool.width() * sizeof(float)));
    }
    ~KvOffloader() { cudaFreeHost(host_); }

    void store(const Engine& engine, const std::vector<int>& ids) {
        engine.prefillDone.holdBack(copy_);
        engine.decodeDone.holdBack(copy_);
        size_t slot = 0;
        for (int id : ids) copyOut(id, slot++);
        stored_.record(copy_);
    }

    void finish() { stored_.wait(); }

private:
    void copyOut(int id, size_t slot) {
        const size_t bytes = pool_.width() * sizeof(float);
        TRY(cudaMemcpyAsync(host_ + slot * pool_.width(), pool_.block(id), bytes, cudaMemcpyDeviceToHost, copy_));
    }

    BlockPool& pool_;
    Stream copy_;
    Event stored_;
    float* host_ = nullptr;
};

int main() {
    BlockPool pool(64, 1024);
    Engine engine(pool);
    KvOffloader offload(pool, 64);
    const std::vector<int> prompt{3, 9, 12, 40};
    engine.prefill(prompt);
    for (int slot = 0; slot < 8; ++slot) engine.decode(41, slot);
    std::vector<int> all(prompt);
    all.push_back(41);
    offload.store(engine, all);
    offload.finish();
    TRY(cudaDeviceSynchronize());
    return 0;
}
