// Device cache for map tiles. Tiles are decoded on the CPU, uploaded on one stream and drawn
// on another one. Slots are recycled in least-recently-used order.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace atlas {

constexpr int kTileSide = 256;
constexpr size_t kTileBytes = size_t(kTileSide) * kTileSide * 4;
constexpr int kMaxVisible = 16;

inline void check(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct VisibleTiles {
    const uchar4* texels[kMaxVisible];
    int2 origin[kMaxVisible];
    int count;
};

__global__ void compose(VisibleTiles tiles, uchar4* frame, int width, int height) {
    const int t = blockIdx.z;
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (t >= tiles.count || x >= kTileSide || y >= kTileSide) return;
    const int fx = tiles.origin[t].x + x;
    const int fy = tiles.origin[t].y + y;
    if (fx >= 0 && fy >= 0 && fx < width && fy < height) {
        frame[fy * width + fx] = tiles.texels[t][y * kTileSide + x];
    }
}

class TileCache {
public:
    using Decoder = std::function<void(uint64_t key, uint8_t* rgba)>;

    TileCache(int capacity, Decoder decoder) : slots_(capacity), decoder_(std::move(decoder)) {
        check(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
        check(cudaStreamCreateWithFlags(&render_, cudaStreamNonBlocking));
        for (int i = 0; i < capacity; ++i) {
            Slot& s = slots_[i];
            check(cudaMalloc(&s.texels, kTileBytes));
            check(cudaMallocHost(&s.staging, kTileBytes));
            check(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
            check(cudaEventCreateWithFlags(&s.drawn, cudaEventDisableTiming));
            lru_.push_back(i);
        }
    }

    ~TileCache() {
        cudaStreamSynchronize(upload_);
        cudaStreamSynchronize(render_);
        for (Slot& s : slots_) {
            cudaFree(s.texels);
            cudaFreeHost(s.staging);
            cudaEventDestroy(s.uploaded);
            cudaEventDestroy(s.drawn);
        }
        cudaStreamDestroy(upload_);
        cudaStreamDestroy(render_);
    }

    TileCache(const TileCache&) = delete;
    TileCache& operator=(const TileCache&) = delete;

    // Draws the given tiles into `frame`. At most `capacity` tiles fit into one call.
    void draw(const std::vector<uint64_t>& keys, const std::vector<int2>& where, uchar4* frame,
              int width, int height) {
        if (keys.size() > kMaxVisible || keys.size() > slots_.size()) {
            throw std::length_error("too many tiles");
        }
        VisibleTiles tiles{};
        int used[kMaxVisible];
        for (size_t i = 0; i < keys.size(); ++i) {
            const int slot = bind(keys[i]);
            used[i] = slot;
            tiles.texels[i] = slots_[slot].texels;
            tiles.origin[i] = where[i];
        }
        tiles.count = static_cast<int>(keys.size());
        const dim3 block(32, 8);
        const dim3 grid(kTileSide / 32, kTileSide / 8, kMaxVisible);
        compose<<<grid, block, 0, render_>>>(tiles, frame, width, height);
        check(cudaGetLastError());
        for (int i = 0; i < tiles.count; ++i) {
            check(cudaEventRecord(slots_[used[i]].drawn, render_));
        }
    }

    void finish() { check(cudaStreamSynchronize(render_)); }

private:
    struct Slot {
        uint64_t key = ~0ull;
        uchar4* texels = nullptr;
        uint8_t* staging = nullptr;
        cudaEvent_t uploaded = nullptr;
        cudaEvent_t drawn = nullptr;
    };

    int bind(uint64_t key) {
        auto it = index_.find(key);
        const int slot = it != index_.end() ? it->second : load(key);
        lru_.remove(slot);
        lru_.push_back(slot);
        check(cudaStreamWaitEvent(render_, slots_[slot].uploaded, 0));
        return slot;
    }

    int load(uint64_t key) {
        const int victim = lru_.front();
        Slot& s = slots_[victim];
        index_.erase(s.key);
        check(cudaEventSynchronize(s.uploaded));
        decoder_(key, s.staging);
        check(cudaStreamWaitEvent(upload_, s.drawn, 0));
        check(cudaMemcpyAsync(s.texels, s.staging, kTileBytes, cudaMemcpyHostToDevice, upload_));
        check(cudaEventRecord(s.uploaded, upload_));
        s.key = key;
        index_[key] = victim;
        return victim;
    }

    std::vector<Slot> slots_;
    Decoder decoder_;
    std::list<int> lru_;
    std::unordered_map<uint64_t, int> index_;
    cudaStream_t upload_ = nullptr;
    cudaStream_t render_ = nullptr;
};

}  // namespace atlas
