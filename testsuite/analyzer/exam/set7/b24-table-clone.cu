// Lookup tables of the routing service, with copies on several GPUs.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace routing {

inline void must(cudaError_t rc)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(rc));
}

class DeviceScope {
public:
    explicit DeviceScope(int device)
    {
        must(cudaGetDevice(&previous_));
        must(cudaSetDevice(device));
    }
    ~DeviceScope() { cudaSetDevice(previous_); }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int previous_ = 0;
};

__global__ void decay_costs(float* cost, size_t n, float factor)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n)
        cost[i] *= factor;
}

__global__ void gather_costs(const float* cost, const int* edge, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = cost[edge[i]];
}

// A table lives on one device. Everything that changes it is queued on its home stream.
class CostTable {
public:
    CostTable(int device, size_t edges) : device_(device), edges_(edges)
    {
        DeviceScope scope(device_);
        must(cudaStreamCreateWithFlags(&home_, cudaStreamNonBlocking));
        for (cudaEvent_t* event : {&changed_, &copied_, &used_})
            must(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        must(cudaMalloc(&cost_, sizeof(float) * edges_));
        must(cudaMemsetAsync(cost_, 0, sizeof(float) * edges_, home_));
        must(cudaEventRecord(changed_, home_));
    }

    CostTable(const CostTable&) = delete;
    CostTable& operator=(const CostTable&) = delete;

    ~CostTable()
    {
        DeviceScope scope(device_);
        cudaDeviceSynchronize();
        cudaFree(cost_);
        for (cudaEvent_t event : {changed_, copied_, used_})
            cudaEventDestroy(event);
        cudaStreamDestroy(home_);
    }

    void decay(float factor)
    {
        DeviceScope scope(device_);
        decay_costs<<<static_cast<unsigned>((edges_ + 255) / 256), 256, 0, home_>>>(cost_, edges_, factor);
        must(cudaGetLastError());
        must(cudaEventRecord(changed_, home_));
    }

    // Makes a copy on `device`.
    std::unique_ptr<CostTable> clone_to(int device) const
    {
        auto copy = std::make_unique<CostTable>(device, edges_);
        DeviceScope scope(device_);
        must(cudaStreamWaitEvent(home_, copy->changed_, 0));
        must(cudaMemcpyPeerAsync(copy->cost_, device, cost_, device_, sizeof(float) * edges_, home_));
        must(cudaEventRecord(copied_, home_));
        must(cudaStreamWaitEvent(copy->home_, copied_, 0));
        return copy;
    }

    // Queues out[i] = cost[edge[i]] on a stream of the table's device.
    void lookup(const int* edge, float* out, int n, cudaStream_t stream) const
    {
        DeviceScope scope(device_);
        must(cudaStreamWaitEvent(stream, changed_, 0));
        gather_costs<<<(n + 127) / 128, 128, 0, stream>>>(cost_, edge, out, n);
        must(cudaGetLastError());
        must(cudaEventRecord(used_, stream));
        must(cudaStreamWaitEvent(home_, used_, 0));
    }

private:
    int device_;
    size_t edges_;
    float* cost_ = nullptr;
    cudaStream_t home_ = nullptr;
    cudaEvent_t changed_ = nullptr;
    cudaEvent_t copied_ = nullptr;
    cudaEvent_t used_ = nullptr;
};

struct Query {
    int device;
    cudaStream_t stream;
    const int* edges;
    float* costs;
    int count;
};

// Answers the queries from copies next to them; returns when all answers are there.
void answer_on_all(const CostTable& table, const std::vector<Query>& queries)
{
    std::vector<std::unique_ptr<CostTable>> copies;
    for (const Query& query : queries) {
        copies.push_back(table.clone_to(query.device));
        copies.back()->lookup(query.edges, query.costs, query.count, query.stream);
    }
    for (const Query& query : queries) {
        DeviceScope scope(query.device);
        must(cudaStreamSynchronize(query.stream));
    }
}

}  // namespace routing
