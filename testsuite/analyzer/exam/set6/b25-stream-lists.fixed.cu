#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <list>
#include <map>
#include <vector>

#define RT_CHECK(e)                                            \
    do {                                                       \
        cudaError_t s_ = (e);                                  \
        if (s_ != cudaSuccess) {                               \
            std::printf("%s\n", cudaGetErrorString(s_));       \
            std::exit(1);                                      \
        }                                                      \
    } while (0)

struct Block {
    char* ptr = nullptr;
    size_t size = 0;
};

struct FreeList {
    std::list<Block> blocks;
    cudaEvent_t event{};
    FreeList() { RT_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
    ~FreeList() { cudaEventDestroy(event); }
    FreeList(const FreeList&) = delete;
    bool take(size_t size, Block& out) {
        for (auto it = blocks.begin(); it != blocks.end(); ++it) {
            if (it->size >= size) {
                out = *it;
                blocks.erase(it);
                return true;
            }
        }
        return false;
    }
};

class StreamOrderedPool {
public:
    explicit StreamOrderedPool(int mergeThreshold) : threshold_(mergeThreshold) {}
    ~StreamOrderedPool() {
        cudaDeviceSynchronize();
        for (char* p : all_) cudaFree(p);
    }

    Block allocate(size_t size, cudaStream_t stream) {
        Block b;
        FreeList& own = lists_[stream];
        if (own.take(size, b)) return b;
        if (steal(size, stream, b)) return b;
        b.size = size;
        RT_CHECK(cudaMalloc(&b.ptr, size));
        all_.push_back(b.ptr);
        return b;
    }

    void deallocate(const Block& b, cudaStream_t stream) {
        FreeList& own = lists_[stream];
        own.blocks.push_back(b);
        RT_CHECK(cudaEventRecord(own.event, stream));
        if (static_cast<int>(lists_.size()) > threshold_) merge(stream);
    }

private:
    bool steal(size_t size, cudaStream_t stream, Block& out) {
        for (auto& [owner, list] : lists_) {
            if (owner == stream || !list.take(size, out)) continue;
            RT_CHECK(cudaStreamWaitEvent(stream, list.event, 0));
            return true;
        }
        return false;
    }

    void merge(cudaStream_t stream) {
        FreeList& own = lists_[stream];
        for (auto& [owner, list] : lists_) {
            if (owner == stream || list.blocks.empty()) continue;
            RT_CHECK(cudaStreamWaitEvent(stream, list.event, 0));
            own.blocks.splice(own.blocks.end(), list.blocks);
        }
        RT_CHECK(cudaEventRecord(own.event, stream));
    }

    int threshold_;
    std::map<cudaStream_t, FreeList> lists_;
    std::vector<char*> all_;
};

__global__ void fillColumn(char* p, size_t n, char v) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * static_cast<size_t>(blockDim.x)) p[i] = v;
}

class Worker {
public:
    explicit Worker(StreamOrderedPool& pool) : pool_(pool) { RT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Worker() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    Worker(const Worker&) = delete;
    void task(size_t bytes, char value) {
        Block b = pool_.allocate(bytes, stream_);
        fillColumn<<<64, 256, 0, stream_>>>(b.ptr, bytes, value);
        pool_.deallocate(b, stream_);
    }

private:
    StreamOrderedPool& pool_;
    cudaStream_t stream_{};
};

int main() {
    StreamOrderedPool pool(2);
    std::list<Worker> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back(pool);
    for (int round = 0; round < 16; ++round) {
        for (auto& w : workers) w.task((1 + round % 3) << 20, static_cast<char>(round));
    }
    return 0;
}
