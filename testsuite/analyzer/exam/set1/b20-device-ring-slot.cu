#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#define LIDAR_TRY(stmt) do { if ((stmt) != cudaSuccess) std::abort(); } while (false)

namespace lidar
{

struct Point
{
    float x, y, z, intensity;
};

/// Fixed ring of device buffers between one producer and one consumer stream.
template<int Depth>
class SlotRing
{
public:
    struct Slot
    {
        Point* points{nullptr};
        cudaEvent_t written{nullptr};
        cudaEvent_t read{nullptr};
    };

    explicit SlotRing(std::size_t capacity)
    {
        for(auto& slot : m_slots)
        {
            LIDAR_TRY(cudaMalloc(&slot.points, capacity * sizeof(Point)));
            LIDAR_TRY(cudaEventCreateWithFlags(&slot.written, cudaEventDisableTiming));
            LIDAR_TRY(cudaEventCreateWithFlags(&slot.read, cudaEventDisableTiming));
        }
    }

    ~SlotRing()
    {
        for(auto& slot : m_slots)
        {
            cudaEventDestroy(slot.read);
            cudaEventDestroy(slot.written);
            cudaFree(slot.points);
        }
    }

    Slot& begin_write(cudaStream_t producer)
    {
        Slot& slot = m_slots[m_next];
        m_next = (m_next + 1) % Depth;
        return slot;
    }
    void end_write(Slot& slot, cudaStream_t producer)
    {
        LIDAR_TRY(cudaEventRecord(slot.written, producer));
    }
    void begin_read(Slot& slot, cudaStream_t consumer)
    {
        LIDAR_TRY(cudaStreamWaitEvent(consumer, slot.written, 0));
    }
    void end_read(Slot& slot, cudaStream_t consumer)
    {
        LIDAR_TRY(cudaEventRecord(slot.read, consumer));
    }

private:
    std::array<Slot, Depth> m_slots;
    int m_next{0};
};

__global__ void voxelise(Point const* pts, std::uint32_t n, std::uint32_t* grid, float inv, int side)
{
    std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if(i >= n)
        return;
    int cx = static_cast<int>(pts[i].x * inv) + side / 2;
    int cy = static_cast<int>(pts[i].y * inv) + side / 2;
    if(cx >= 0 && cy >= 0 && cx < side && cy < side)
        atomicAdd(&grid[cy * side + cx], 1u);
}

class Accumulator
{
public:
    Accumulator(std::size_t capacity, std::uint32_t* grid, int side) : m_ring(capacity), m_grid(grid), m_side(side)
    {
        LIDAR_TRY(cudaStreamCreateWithFlags(&m_ingest, cudaStreamNonBlocking));
        LIDAR_TRY(cudaStreamCreateWithFlags(&m_map, cudaStreamNonBlocking));
    }
    ~Accumulator()
    {
        cudaStreamSynchronize(m_ingest);
        cudaStreamSynchronize(m_map);
        cudaStreamDestroy(m_map);
        cudaStreamDestroy(m_ingest);
    }

    /// `sweep` is page-locked and never changes.
    void add(Point const* sweep, std::uint32_t n)
    {
        auto& slot = m_ring.begin_write(m_ingest);
        LIDAR_TRY(cudaMemcpyAsync(slot.points, sweep, n * sizeof(Point), cudaMemcpyHostToDevice, m_ingest));
        m_ring.end_write(slot, m_ingest);

        m_ring.begin_read(slot, m_map);
        voxelise<<<(n + 127) / 128, 128, 0, m_map>>>(slot.points, n, m_grid, 10.f, m_side);
        LIDAR_TRY(cudaGetLastError());
        m_ring.end_read(slot, m_map);
    }

private:
    SlotRing<3> m_ring;
    std::uint32_t* m_grid;
    int m_side;
    cudaStream_t m_ingest{nullptr};
    cudaStream_t m_map{nullptr};
};

} // namespace lidar
