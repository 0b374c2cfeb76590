// Uploads sensor packets through a ring of pinned slots on two copy lanes.
#include <cuda_runtime.h>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace lidar {

constexpr unsigned kSlots = 6;
constexpr size_t kPacketBytes = 1u << 16;

inline void must(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void decode_points(const uint16_t* raw, int n, float scale, float* range)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) range[i] = raw[i] * scale;
}

class PacketRing {
public:
    PacketRing()
    {
        for (auto& lane : lanes_) must(cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking));
        for (auto& s : slots_) {
            must(cudaMallocHost(&s.host, kPacketBytes));
            must(cudaMalloc(&s.raw, kPacketBytes));
            must(cudaEventCreateWithFlags(&s.copied, cudaEventDisableTiming));
        }
    }
    ~PacketRing()
    {
        for (auto lane : lanes_) cudaStreamSynchronize(lane);
        for (auto& s : slots_) {
            cudaEventDestroy(s.copied);
            cudaFree(s.raw);
            cudaFreeHost(s.host);
        }
        for (auto lane : lanes_) cudaStreamDestroy(lane);
    }

    // Copies the packet, so the caller may reuse its memory at once.
    cudaStream_t push(const void* packet, size_t bytes, float scale, float* range)
    {
        if (bytes > kPacketBytes) throw std::length_error("packet");
        const unsigned index = next_;
        next_ = (next_ + 1) % kSlots;
        Slot& s = slots_[index];
        // kSlots is even, so a slot always meets the same lane again and the
        // device side of the slot is protected by stream order.
        cudaStream_t lane = lanes_[index & 1];

        if (s.used) must(cudaEventSynchronize(s.copied));
        std::memcpy(s.host, packet, bytes);
        must(cudaMemcpyAsync(s.raw, s.host, bytes, cudaMemcpyHostToDevice, lane));
        must(cudaEventRecord(s.copied, lane));
        s.used = true;

        const int n = static_cast<int>(bytes / sizeof(uint16_t));
        decode_points<<<(n + 255) / 256, 256, 0, lane>>>(static_cast<const uint16_t*>(s.raw), n, scale, range);
        must(cudaGetLastError());
        return lane;
    }

    void flush()
    {
        for (auto lane : lanes_) must(cudaStreamSynchronize(lane));
    }

private:
    struct Slot {
        void* host = nullptr;
        void* raw = nullptr;
        cudaEvent_t copied = nullptr;
        bool used = false;
    };
    std::array<Slot, kSlots> slots_;
    std::array<cudaStream_t, 2> lanes_{};
    unsigned next_ = 0;
};

} // namespace lidar
