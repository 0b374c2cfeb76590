// Watchdog for a persistent recurrent kernel.
#include <cuda_runtime.h>
#include <stdexcept>

namespace prnn {

struct BarrierStatus {
    int      timed_out;
    unsigned last_step;
};

__global__ void recurrent_forward(const float* weights, float* activations, int hidden, int steps,
                                  unsigned* arrivals, long long max_spins, BarrierStatus* status)
{
    for (int t = 1; t <= steps; ++t) {
        int unit = blockIdx.x * blockDim.x + threadIdx.x;
        if (unit < hidden) {
            float acc = 0.f;
            for (int j = 0; j < hidden; ++j)
                acc += weights[unit * hidden + j] * activations[(t - 1) * hidden + j];
            activations[t * hidden + unit] = tanhf(acc);
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrivals, 1u);
            long long spins = 0;
            while (atomicAdd(arrivals, 0u) < unsigned(t) * gridDim.x) {
                if (++spins > max_spins) {
                    status->timed_out = 1;
                    status->last_step = t;
                    break;
                }
            }
        }
        __syncthreads();
        __threadfence();
    }
}

class PersistentLayer {
public:
    PersistentLayer(int hidden, cudaStream_t stream) : hidden_(hidden), stream_(stream)
    {
        throwOnError(cudaMallocManaged(&status_, sizeof(BarrierStatus)));
        throwOnError(cudaMalloc(&arrivals_, sizeof(unsigned)));
    }
    ~PersistentLayer()
    {
        cudaStreamSynchronize(stream_);
        cudaFree(arrivals_);
        cudaFree(status_);
    }

    void forward(const float* weights, float* activations, int steps, int blocks)
    {
        throwOnError(cudaStreamSynchronize(stream_));
        status_->timed_out = 0;
        status_->last_step = 0;
        throwOnError(cudaMemsetAsync(arrivals_, 0, sizeof(unsigned), stream_));
        recurrent_forward<<<blocks, 256, 0, stream_>>>(weights, activations, hidden_, steps, arrivals_,
                                                       1ll << 26, status_);
        throwOnError(cudaGetLastError());
        throwOnError(cudaStreamSynchronize(stream_));
        if (status_->timed_out)
            throw std::runtime_error("inter-block barrier timed out");
    }

private:
    static void throwOnError(cudaError_t e)
    {
        if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
    }

    int            hidden_;
    cudaStream_t   stream_;
    BarrierStatus* status_   = nullptr;
    unsigned*      arrivals_ = nullptr;
};

} // namespace prnn
