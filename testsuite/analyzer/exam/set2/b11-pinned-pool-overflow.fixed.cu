#include <cuda_runtime.h>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

namespace codec {

#define CODEC_CHECK(stmt)                         \
    do {                                          \
        if ((stmt) != cudaSuccess) return false;  \
    } while (0)

struct HostBlock {
    uint8_t*    ptr   = nullptr;
    size_t      bytes = 0;
    int         index = -1;       // -1: not part of the slab
};

// Fixed slab of pinned blocks. Requests that do not fit fall back to a plain
// pinned allocation.
class PinnedPool {
public:
    PinnedPool(size_t block_bytes, int blocks) : block_bytes_(block_bytes)
    {
        cudaMallocHost((void**)&slab_, block_bytes * blocks);
        in_use_.assign(blocks, false);
        last_use_.resize(blocks);
        for (auto& e : last_use_) cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    }
    ~PinnedPool()
    {
        for (auto& e : last_use_) { cudaEventSynchronize(e); cudaEventDestroy(e); }
        cudaFreeHost(slab_);
    }

    HostBlock acquire(size_t bytes)
    {
        HostBlock b;
        b.bytes = bytes;
        if (bytes <= block_bytes_) {
            std::lock_guard<std::mutex> g(lock_);
            for (size_t i = 0; i < in_use_.size(); ++i) {
                if (in_use_[i]) continue;
                cudaEventSynchronize(last_use_[i]);
                in_use_[i] = true;
                b.index = (int)i;
                b.ptr = slab_ + i * block_bytes_;
                return b;
            }
        }
        cudaMallocHost((void**)&b.ptr, bytes);
        return b;
    }

    void release(HostBlock& b, cudaStream_t stream)
    {
        if (b.index < 0) {
            cudaStreamSynchronize(stream);
            cudaFreeHost(b.ptr);
        } else {
            std::lock_guard<std::mutex> g(lock_);
            cudaEventRecord(last_use_[b.index], stream);
            in_use_[b.index] = false;
        }
        b = HostBlock{};
    }

private:
    size_t                   block_bytes_;
    uint8_t*                 slab_ = nullptr;
    std::mutex               lock_;
    std::vector<bool>        in_use_;
    std::vector<cudaEvent_t> last_use_;
};

__global__ void expand_rle(const uint8_t* src, size_t pairs, const uint32_t* offsets, uint8_t* dst)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    uint8_t run = src[2 * i], value = src[2 * i + 1];
    for (uint32_t k = 0; k < run; ++k) dst[offsets[i] + k] = value;
}

bool decompress_page(PinnedPool& pool, const uint8_t* page, size_t bytes, const uint32_t* d_offsets,
                     uint8_t* d_packed, uint8_t* d_out, cudaStream_t stream)
{
    HostBlock stage = pool.acquire(bytes);
    if (!stage.ptr) return false;
    std::memcpy(stage.ptr, page, bytes);
    cudaError_t rc = cudaMemcpyAsync(d_packed, stage.ptr, bytes, cudaMemcpyHostToDevice, stream);
    pool.release(stage, stream);
    CODEC_CHECK(rc);
    size_t pairs = bytes / 2;
    expand_rle<<<(unsigned)((pairs + 255) / 256), 256, 0, stream>>>(d_packed, pairs, d_offsets, d_out);
    CODEC_CHECK(cudaGetLastError());
    return true;
}

} // namespace codec
