// Asynchronous upload of telemetry records. Pinned blocks return to their pool from a host
// callback as soon as the copy out of them has been carried out.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace telemetry {

inline void verify(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class BlockPool {
public:
    struct Block {
        BlockPool* pool;
        void* data;
    };

    BlockPool(std::size_t bytes, int count) : bytes_(bytes), blocks_(count) {
        for (Block& b : blocks_) {
            b.pool = this;
            verify(cudaMallocHost(&b.data, bytes));
            free_.push_back(&b);
        }
    }
    ~BlockPool() {
        for (Block& b : blocks_) cudaFreeHost(b.data);
    }

    // Blocks while all blocks are under way.
    Block* take() {
        std::unique_lock<std::mutex> lock(mutex_);
        returned_.wait(lock, [this] { return !free_.empty(); });
        Block* b = free_.back();
        free_.pop_back();
        return b;
    }

    void give(Block* b) {
        std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(b);
        returned_.notify_one();
    }

    // Waits until every block is back.
    void drain() {
        std::unique_lock<std::mutex> lock(mutex_);
        returned_.wait(lock, [this] { return free_.size() == blocks_.size(); });
    }

    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    std::vector<Block> blocks_;
    std::vector<Block*> free_;
    std::mutex mutex_;
    std::condition_variable returned_;
};

static void CUDART_CB give_back(void* arg) {
    auto* block = static_cast<BlockPool::Block*>(arg);
    block->pool->give(block);
}

struct Record {
    float time;
    float speed;
    float throttle;
    float brake;
};

__global__ void integrate(const Record* r, int n, float* distance) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) {
        atomicAdd(distance, 0.5f * (r[i].speed + r[i + 1].speed) * (r[i + 1].time - r[i].time));
    }
}

class LapUploader {
public:
    explicit LapUploader(int max_records)
        : max_records_(max_records), pool_(max_records * sizeof(Record), 4) {
        verify(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        verify(cudaMalloc(&records_, max_records * sizeof(Record)));
        verify(cudaMalloc(&distance_, sizeof(float)));
        verify(cudaMemsetAsync(distance_, 0, sizeof(float), stream_));
    }

    ~LapUploader() {
        cudaStreamSynchronize(stream_);
        pool_.drain();
        cudaFree(records_);
        cudaFree(distance_);
        cudaStreamDestroy(stream_);
    }

    LapUploader(const LapUploader&) = delete;
    LapUploader& operator=(const LapUploader&) = delete;

    // Does not wait for the device; `records` may be reused at once.
    void add(const std::vector<Record>& records) {
        const int n = static_cast<int>(records.size());
        if (n == 0) return;
        if (n > max_records_) throw std::length_error("lap too long");
        BlockPool::Block* block = pool_.take();
        std::memcpy(block->data, records.data(), n * sizeof(Record));
        verify(cudaMemcpyAsync(records_, block->data, n * sizeof(Record), cudaMemcpyHostToDevice,
                               stream_));
        verify(cudaLaunchHostFunc(stream_, give_back, block));
        integrate<<<(n + 255) / 256, 256, 0, stream_>>>(records_, n, distance_);
        verify(cudaGetLastError());
    }

    float distance() {
        float d = 0.f;
        verify(cudaMemcpyAsync(&d, distance_, sizeof d, cudaMemcpyDeviceToHost, stream_));
        verify(cudaStreamSynchronize(stream_));
        return d;
    }

private:
    int max_records_;
    BlockPool pool_;
    cudaStream_t stream_ = nullptr;
    Record* records_ = nullptr;
    float* distance_ = nullptr;
};

}  // namespace telemetry
