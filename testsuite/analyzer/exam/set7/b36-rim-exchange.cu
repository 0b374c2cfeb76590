// Exchange of the rims of a field: both sides are packed on their own lanes and shipped over one link stream.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>

namespace rims {

inline void require(cudaError_t rc)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(rc));
}

enum class Side { left = 0, right = 1 };

struct Extent {
    int nx;
    int ny;
};

__global__ void pack_column(const float* field, float* packed, Extent extent, int column)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < extent.ny)
        packed[y] = field[y * extent.nx + column];
}

__global__ void relax(float* field, Extent extent, float rate)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < extent.nx * extent.ny)
        field[i] *= 1.f - rate;
}

class RimExchange {
public:
    explicit RimExchange(Extent extent) : extent_(extent)
    {
        for (Lane& lane : lanes_) {
            require(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
            require(cudaMalloc(&lane.packed, sizeof(float) * extent.ny));
            require(cudaMallocHost(&lane.outbox, sizeof(float) * extent.ny));
        }
        require(cudaStreamCreateWithFlags(&link_, cudaStreamNonBlocking));
        for (cudaEvent_t* event : {&field_ready_, &packed_, &shipped_})
            require(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }

    RimExchange(const RimExchange&) = delete;
    RimExchange& operator=(const RimExchange&) = delete;

    ~RimExchange()
    {
        cudaDeviceSynchronize();
        for (Lane& lane : lanes_) {
            cudaFree(lane.packed);
            cudaFreeHost(lane.outbox);
            cudaStreamDestroy(lane.stream);
        }
        cudaStreamDestroy(link_);
        for (cudaEvent_t event : {field_ready_, packed_, shipped_})
            cudaEventDestroy(event);
    }

    // Sends the rims of the field as it is on `compute` now. Later work on `compute` may change the field.
    void send(const float* field, cudaStream_t compute)
    {
        require(cudaEventRecord(field_ready_, compute));
        pack(Side::left, field, 0);
        pack(Side::right, field, extent_.nx - 1);
        ship();
        require(cudaStreamWaitEvent(compute, shipped_, 0));
    }

    // Waits for the last send() and returns the rim of one side, valid until the next send().
    const float* outbox(Side side)
    {
        require(cudaEventSynchronize(shipped_));
        return lane_of(side).outbox;
    }

    Extent extent() const { return extent_; }

private:
    struct Lane {
        cudaStream_t stream = nullptr;
        float* packed = nullptr;
        float* outbox = nullptr;
    };

    Lane& lane_of(Side side) { return lanes_[static_cast<size_t>(side)]; }

    void pack(Side side, const float* field, int column)
    {
        Lane& lane = lane_of(side);
        require(cudaStreamWaitEvent(lane.stream, field_ready_, 0));
        require(cudaStreamWaitEvent(lane.stream, shipped_, 0));
        pack_column<<<(extent_.ny + 127) / 128, 128, 0, lane.stream>>>(field, lane.packed, extent_, column);
        require(cudaGetLastError());
        require(cudaEventRecord(packed_, lane.stream));
    }

    void ship()
    {
        require(cudaStreamWaitEvent(link_, packed_, 0));
        for (Lane& lane : lanes_) {
            require(cudaMemcpyAsync(lane.outbox, lane.packed, sizeof(float) * extent_.ny, cudaMemcpyDeviceToHost,
                                    link_));
        }
        require(cudaEventRecord(shipped_, link_));
    }

    Extent extent_;
    std::array<Lane, 2> lanes_;
    cudaStream_t link_ = nullptr;
    cudaEvent_t field_ready_ = nullptr;
    cudaEvent_t packed_ = nullptr;
    cudaEvent_t shipped_ = nullptr;
};

// One step of the solver: sends the rims, relaxes the field and returns the sum over the rims that were sent.
double step_and_sum(RimExchange& exchange, float* field, float rate, cudaStream_t compute)
{
    const Extent extent = exchange.extent();
    exchange.send(field, compute);
    relax<<<(extent.nx * extent.ny + 255) / 256, 256, 0, compute>>>(field, extent, rate);
    require(cudaGetLastError());
    double sum = 0.0;
    for (const Side side : {Side::left, Side::right}) {
        const float* rim = exchange.outbox(side);
        for (int y = 0; y < extent.ny; ++y)
            sum += rim[y];
    }
    return sum;
}

}  // namespace rims
