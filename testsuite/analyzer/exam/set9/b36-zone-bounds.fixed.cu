// Zone pruning for the columnar scan: uploads the per-zone bounds of a filter column and marks
// the zones that can hold matching rows.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace scan {

inline void cu(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Page-locked blocks of equal size that are handed out again and again.
class PinnedBlocks {
public:
    explicit PinnedBlocks(size_t block_bytes) : block_bytes_(block_bytes) {}
    ~PinnedBlocks() {
        for (void* p : all_) cudaFreeHost(p);
    }

    void* take() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (free_.empty()) {
            void* p = nullptr;
            cu(cudaMallocHost(&p, block_bytes_));
            all_.push_back(p);
            return p;
        }
        void* p = free_.back();
        free_.pop_back();
        return p;
    }

    void give(void* p) {
        std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(p);
    }

    size_t block_bytes() const { return block_bytes_; }

private:
    size_t block_bytes_;
    std::mutex mutex_;
    std::vector<void*> all_;
    std::vector<void*> free_;
};

class BlockLease {
public:
    explicit BlockLease(PinnedBlocks& pool) : pool_(pool), data_(pool.take()) {}
    ~BlockLease() { pool_.give(data_); }
    BlockLease(const BlockLease&) = delete;
    BlockLease& operator=(const BlockLease&) = delete;
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

private:
    PinnedBlocks& pool_;
    void* data_;
};

struct ZoneStats {
    bool is_text = false;
    std::vector<double> low, high;             // numeric columns
    std::vector<uint64_t> low_key, high_key;   // order preserving prefixes of text columns
};

struct DeviceBounds {
    uint64_t* low = nullptr;
    uint64_t* high = nullptr;
};

__global__ void mark_zones(const uint64_t* low, const uint64_t* high, uint64_t key, int zones,
                           uint8_t* keep) {
    const int z = blockIdx.x * blockDim.x + threadIdx.x;
    if (z < zones) keep[z] = low[z] <= key && key <= high[z];
}

// Maps doubles to integers of the same order.
static uint64_t ordered_bits(double v) {
    uint64_t u;
    std::memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | 1ull << 63;
}

static void send(const uint64_t* src, uint64_t* dst, size_t zones, cudaStream_t stream) {
    cu(cudaMemcpyAsync(dst, src, zones * sizeof(uint64_t), cudaMemcpyHostToDevice, stream));
}

static void upload_bounds(const ZoneStats& stats, DeviceBounds bounds, PinnedBlocks& pool,
                          cudaStream_t stream) {
    const size_t zones = stats.is_text ? stats.low_key.size() : stats.low.size();
    if (2 * zones * sizeof(uint64_t) > pool.block_bytes()) throw std::length_error("zones");

    BlockLease lease(pool);
    uint64_t* low = lease.as<uint64_t>();
    uint64_t* high = low + zones;
    if (stats.is_text) {
        std::copy(stats.low_key.begin(), stats.low_key.end(), low);
        std::copy(stats.high_key.begin(), stats.high_key.end(), high);
        send(low, bounds.low, zones, stream);
        send(high, bounds.high, zones, stream);
    } else {
        for (size_t z = 0; z < zones; ++z) {
            low[z] = ordered_bits(stats.low[z]);
            high[z] = ordered_bits(stats.high[z]);
        }
        send(low, bounds.low, zones, stream);
        send(high, bounds.high, zones, stream);
    }
    cu(cudaStreamSynchronize(stream));
}

// Sets keep[z] for every zone that may hold `value`. Ordered on `stream`.
void prune_numeric(const ZoneStats& stats, double value, DeviceBounds bounds, uint8_t* keep,
                   PinnedBlocks& pool, cudaStream_t stream) {
    const int zones = static_cast<int>(stats.low.size());
    if (zones == 0) return;
    upload_bounds(stats, bounds, pool, stream);
    mark_zones<<<(zones + 127) / 128, 128, 0, stream>>>(bounds.low, bounds.high,
                                                        ordered_bits(value), zones, keep);
    cu(cudaGetLastError());
}

void prune_text(const ZoneStats& stats, uint64_t key, DeviceBounds bounds, uint8_t* keep,
                PinnedBlocks& pool, cudaStream_t stream) {
    const int zones = static_cast<int>(stats.low_key.size());
    if (zones == 0) return;
    upload_bounds(stats, bounds, pool, stream);
    mark_zones<<<(zones + 127) / 128, 128, 0, stream>>>(bounds.low, bounds.high, key, zones, keep);
    cu(cudaGetLastError());
}

}  // namespace scan
