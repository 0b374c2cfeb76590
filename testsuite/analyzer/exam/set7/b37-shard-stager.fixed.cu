// Uploads shards of a catalogue to all GPUs of a host through a small ring of pinned blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

namespace catalogue {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(what);
}

// For calls on the hot path: checked in debug builds.
inline void debug_check(cudaError_t rc)
{
#ifndef NDEBUG
    if (rc != cudaSuccess) {
        std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(rc));
        std::abort();
    }
#else
    (void)rc;
#endif
}

// Events are cheap but not free to make, so they are kept.
class EventPool {
public:
    ~EventPool()
    {
        for (auto& entry : idle_)
            for (cudaEvent_t event : entry.second)
                cudaEventDestroy(event);
    }

    // Needs `device` to be the current device.
    cudaEvent_t take(int device)
    {
        std::vector<cudaEvent_t>& idle = idle_[device];
        if (idle.empty()) {
            cudaEvent_t event = nullptr;
            check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
            return event;
        }
        cudaEvent_t event = idle.back();
        idle.pop_back();
        return event;
    }

    void put(int device, cudaEvent_t event) { idle_[device].push_back(event); }

private:
    std::map<int, std::vector<cudaEvent_t>> idle_;
};

class Stager {
public:
    Stager(size_t block_bytes, int blocks) : block_bytes_(block_bytes), blocks_(blocks)
    {
        for (Block& block : blocks_)
            check(cudaHostAlloc(reinterpret_cast<void**>(&block.host), block_bytes, cudaHostAllocPortable), "block");
    }
    Stager(const Stager&) = delete;
    Stager& operator=(const Stager&) = delete;

    // All streams that were given to upload() must be idle by now.
    ~Stager()
    {
        for (Block& block : blocks_) {
            if (block.busy)
                events_.put(block.device, block.busy);
            cudaFreeHost(block.host);
        }
    }

    // Queues the upload of any number of bytes; `source` may be reused when the call returns.
    void upload(int device, void* target, const void* source, size_t bytes, cudaStream_t stream)
    {
        check(cudaSetDevice(device), "device");
        const char* from = static_cast<const char*>(source);
        char* to = static_cast<char*>(target);
        while (bytes > 0) {
            const size_t part = std::min(bytes, block_bytes_);
            Block& block = next_block();
            std::memcpy(block.host, from, part);
            check(cudaMemcpyAsync(to, block.host, part, cudaMemcpyHostToDevice, stream), "upload");
            mark_busy(block, device, stream);
            from += part;
            to += part;
            bytes -= part;
        }
    }

private:
    struct Block {
        char* host = nullptr;
        cudaEvent_t busy = nullptr;
        int device = 0;
    };

    Block& next_block()
    {
        Block& block = blocks_[next_];
        next_ = (next_ + 1) % blocks_.size();
        if (block.busy) {
            debug_check(cudaEventSynchronize(block.busy));
            events_.put(block.device, block.busy);
            block.busy = nullptr;
        }
        return block;
    }

    void mark_busy(Block& block, int device, cudaStream_t stream)
    {
        block.device = device;
        block.busy = events_.take(device);
        debug_check(cudaEventRecord(block.busy, stream));
    }

    size_t block_bytes_;
    EventPool events_;
    std::vector<Block> blocks_;
    size_t next_ = 0;
};

struct Shard {
    int device;
    cudaStream_t stream;
    float* target;
    std::vector<float> stars;
};

void load_catalogue(const std::vector<Shard>& shards)
{
    Stager stager(size_t(1) << 20, 4);
    for (const Shard& shard : shards)
        stager.upload(shard.device, shard.target, shard.stars.data(), shard.stars.size() * sizeof(float), shard.stream);
    for (const Shard& shard : shards) {
        check(cudaSetDevice(shard.device), "device");
        check(cudaStreamSynchronize(shard.stream), "wait for shard");
    }
}

}  // namespace catalogue
