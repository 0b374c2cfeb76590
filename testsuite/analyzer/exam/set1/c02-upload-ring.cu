#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

// Ring of page-locked slots for small uploads.  A slot is refilled only after
// the event of its last copy has completed.

#define RING_ASSERT(x) do { if ((x) != cudaSuccess) __builtin_trap(); } while (0)

struct UploadSlot
{
    uint8_t*    host  = nullptr;
    cudaEvent_t taken = nullptr;
    bool        busy  = false;

    void create(size_t size)
    {
        RING_ASSERT(cudaHostAlloc(reinterpret_cast<void**>(&host), size, cudaHostAllocWriteCombined));
        RING_ASSERT(cudaEventCreateWithFlags(&taken, cudaEventDisableTiming | cudaEventBlockingSync));
    }

    void waitFree()
    {
        if (!busy)
            return;
        RING_ASSERT(cudaEventSynchronize(taken));
        busy = false;
    }

    void destroy()
    {
        waitFree();
        RING_ASSERT(cudaEventDestroy(taken));
        RING_ASSERT(cudaFreeHost(host));
    }
};

class UploadRing
{
public:
    UploadRing(size_t slotCount, size_t slotSize) : m_slots(slotCount), m_slotSize(slotSize)
    {
        for (auto& s : m_slots)
            s.create(slotSize);
    }

    ~UploadRing()
    {
        for (auto& s : m_slots)
            s.destroy();
    }

    UploadRing(const UploadRing&)            = delete;
    UploadRing& operator=(const UploadRing&) = delete;

    /// Copies `size` bytes to the device; `src` may be changed after the call.
    void write(void* dst, const void* src, size_t size, cudaStream_t stream)
    {
        auto* out = static_cast<uint8_t*>(dst);
        auto* in  = static_cast<const uint8_t*>(src);
        while (size > 0)
        {
            const size_t part = size < m_slotSize ? size : m_slotSize;
            UploadSlot& slot  = next();
            std::memcpy(slot.host, in, part);
            RING_ASSERT(cudaMemcpyAsync(out, slot.host, part, cudaMemcpyHostToDevice, stream));
            RING_ASSERT(cudaEventRecord(slot.taken, stream));
            slot.busy = true;
            out += part;
            in += part;
            size -= part;
        }
    }

private:
    UploadSlot& next()
    {
        UploadSlot& s = m_slots[m_head];
        m_head        = (m_head + 1) % m_slots.size();
        s.waitFree();
        return s;
    }

    std::vector<UploadSlot> m_slots;
    size_t                  m_slotSize;
    size_t                  m_head = 0;
};

struct ObjectConstants
{
    float    transform[16];
    uint32_t material;
};

__global__ void cull(const ObjectConstants* objs, uint32_t count, uint32_t* visible)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        visible[i] = objs[i].transform[14] > 0.f;
}

void submitFrame(UploadRing& ring, const std::vector<ObjectConstants>& objs, ObjectConstants* dObjs,
                 uint32_t* dVisible, cudaStream_t stream)
{
    const auto count = static_cast<uint32_t>(objs.size());
    if (count == 0)
        return;
    ring.write(dObjs, objs.data(), count * sizeof(ObjectConstants), stream);
    cull<<<(count + 63) / 64, 64, 0, stream>>>(dObjs, count, dVisible);
    RING_ASSERT(cudaGetLastError());
}
