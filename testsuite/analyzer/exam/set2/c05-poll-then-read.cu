// Convergence monitor: the host never blocks on the stream, it looks at the
// residual only when the event says that the copy has landed.
#include <cuda_runtime.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>

namespace poisson {

#define TRY_CUDA(x) if ((x) != cudaSuccess) throw std::runtime_error("CUDA call failed: " #x)

__global__ void sweep(const float* u, const float* f, float* v, int n, float* norm)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i >= n - 1) return;
    float next = 0.5f * (u[i - 1] + u[i + 1] + f[i]);
    atomicAdd(norm, fabsf(next - u[i]));
    v[i] = next;
}

class ResidualProbe {
public:
    explicit ResidualProbe(cudaStream_t stream) : stream_(stream)
    {
        TRY_CUDA(cudaMalloc(&dev_, sizeof(float)));
        TRY_CUDA(cudaMallocHost(&host_, sizeof(float)));
        TRY_CUDA(cudaEventCreateWithFlags(&landed_, cudaEventDisableTiming));
    }
    ~ResidualProbe()
    {
        cudaStreamSynchronize(stream_);
        cudaEventDestroy(landed_);
        cudaFreeHost(host_);
        cudaFree(dev_);
    }
    bool busy() const { return pending_; }
    float* arm()
    {
        TRY_CUDA(cudaMemsetAsync(dev_, 0, sizeof(float), stream_));
        return dev_;
    }
    void fetch()
    {
        TRY_CUDA(cudaMemcpyAsync(host_, dev_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
        TRY_CUDA(cudaEventRecord(landed_, stream_));
        pending_ = true;
    }
    std::optional<float> poll()
    {
        if (!pending_) return std::nullopt;
        switch (cudaEventQuery(landed_)) {
        case cudaSuccess:
            pending_ = false;
            return *host_;
        case cudaErrorNotReady:
            return std::nullopt;
        default:
            throw std::runtime_error("event query");
        }
    }

private:
    cudaStream_t stream_;
    float* dev_ = nullptr;
    float* host_ = nullptr;
    cudaEvent_t landed_ = nullptr;
    bool pending_ = false;
};

int relax(float* u, float* v, const float* f, int n, float tol, int max_sweeps, cudaStream_t stream)
{
    ResidualProbe probe(stream);
    int done = 0;
    for (; done < max_sweeps; ++done) {
        float* norm = probe.arm();
        sweep<<<(n + 255) / 256, 256, 0, stream>>>(u, f, v, n, norm);
        TRY_CUDA(cudaGetLastError());
        if (!probe.busy()) probe.fetch();
        if (auto r = probe.poll(); r && *r < tol) break;
        std::swap(u, v);
        if (done % 64 == 63) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    TRY_CUDA(cudaStreamSynchronize(stream));
    return done;
}

} // namespace poisson
