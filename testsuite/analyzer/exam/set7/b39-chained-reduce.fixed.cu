// Norm of a residual in two kernels. The second one is launched early, so that its start-up is hidden.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace solver {

constexpr int kThreads = 256;
constexpr int kMaxParts = 1024;

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

__device__ inline float block_sum(float value)
{
    __shared__ float shared[kThreads];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int width = kThreads / 2; width > 0; width /= 2) {
        if (threadIdx.x < static_cast<unsigned>(width))
            shared[threadIdx.x] += shared[threadIdx.x + width];
        __syncthreads();
    }
    return shared[0];
}

__global__ void square_parts(const float* residual, size_t n, float* parts)
{
    cudaTriggerProgrammaticLaunchCompletion();
    float sum = 0.f;
    for (size_t i = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x; i < n;
         i += gridDim.x * static_cast<size_t>(kThreads))
        sum += residual[i] * residual[i];
    const float total = block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = total;
}

// Adds the parts in a fixed order and scales the result.
__global__ void finish_norm(const float* parts, int count, const float* scale, float* norm)
{
    const float factor = *scale;
    cudaGridDependencySynchronize();
    float sum = 0.f;
    for (int i = threadIdx.x; i < count; i += kThreads)
        sum += parts[i];
    const float total = block_sum(sum);
    if (threadIdx.x == 0)
        *norm = factor * sqrtf(total);
}

// Launches a kernel that may start before the one in front of it on the stream has ended.
template <class... Params, class... Args>
void launch_early(void (*kernel)(Params...), unsigned blocks, cudaStream_t stream, Args&&... args)
{
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...), "launch");
}

class ResidualNorm {
public:
    ResidualNorm()
    {
        check(cudaMalloc(&parts_, kMaxParts * sizeof(float)), "parts");
        check(cudaMalloc(&norm_, sizeof(float)), "norm");
        check(cudaMalloc(&scale_, sizeof(float)), "scale");
    }
    ResidualNorm(const ResidualNorm&) = delete;
    ResidualNorm& operator=(const ResidualNorm&) = delete;
    ~ResidualNorm()
    {
        cudaDeviceSynchronize();
        cudaFree(parts_);
        cudaFree(norm_);
        cudaFree(scale_);
    }

    // To be called before the first compute(); returns when the factor is on the device.
    void set_scale(float scale, cudaStream_t stream)
    {
        check(cudaMemcpyAsync(scale_, &scale, sizeof scale, cudaMemcpyHostToDevice, stream), "scale");
        check(cudaStreamSynchronize(stream), "scale");
    }

    // Queues the norm of `residual`. The object serves one stream.
    void compute(const float* residual, size_t n, cudaStream_t stream)
    {
        const size_t wanted = (n + kThreads - 1) / kThreads;
        const int blocks = static_cast<int>(wanted < kMaxParts ? wanted : kMaxParts);
        square_parts<<<blocks, kThreads, 0, stream>>>(residual, n, parts_);
        check(cudaGetLastError(), "square_parts");
        launch_early(finish_norm, 1u, stream, parts_, blocks, scale_, norm_);
    }

    float value(cudaStream_t stream) const
    {
        float host = 0.f;
        check(cudaMemcpyAsync(&host, norm_, sizeof host, cudaMemcpyDeviceToHost, stream), "norm");
        check(cudaStreamSynchronize(stream), "norm");
        return host;
    }

private:
    float* parts_ = nullptr;
    float* norm_ = nullptr;
    float* scale_ = nullptr;
};

bool converged(ResidualNorm& norm, const float* residual, size_t n, float tolerance, cudaStream_t stream)
{
    norm.compute(residual, n, stream);
    return norm.value(stream) < tolerance;
}

}  // namespace solver
