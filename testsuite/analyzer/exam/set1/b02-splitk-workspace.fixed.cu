#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

// Split-K style GEMV.  The partial results are reduced through a workspace of
// counters that must be zero before the kernel starts.

static inline void throw_on_error(cudaError_t e, const char* what)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct SplitKArgs
{
    const float* a;
    const float* x;
    float*       y;
    int          rows;
    int          cols;
    int          slices;
};

__global__ void splitk_gemv(SplitKArgs p, float* partial, int* counters)
{
    int row   = blockIdx.x;
    int slice = blockIdx.y;
    int per   = (p.cols + p.slices - 1) / p.slices;
    float acc = 0.f;
    for (int c = slice * per + threadIdx.x; c < min(p.cols, (slice + 1) * per); c += blockDim.x)
        acc += p.a[(size_t)row * p.cols + c] * p.x[c];
    atomicAdd(&partial[row], acc);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&counters[row], 1) == p.slices - 1)
        p.y[row] = atomicAdd(&partial[row], 0.f);
}

class SplitKGemv
{
public:
    static size_t workspace_bytes(const SplitKArgs& p)
    {
        return (size_t)p.rows * (sizeof(float) + sizeof(int));
    }

    cudaError_t initialize(const SplitKArgs& p, void* workspace, cudaStream_t stream = nullptr)
    {
        args_      = p;
        workspace_ = workspace;
        if (p.slices > 1)
        {
            cudaError_t e = cudaMemsetAsync(workspace, 0, workspace_bytes(p), stream);
            if (e != cudaSuccess)
                return e;
        }
        return cudaSuccess;
    }

    cudaError_t run(cudaStream_t stream = nullptr)
    {
        float* partial  = static_cast<float*>(workspace_);
        int*   counters = reinterpret_cast<int*>(partial + args_.rows);
        dim3 grid(args_.rows, args_.slices);
        splitk_gemv<<<grid, 128, 0, stream>>>(args_, partial, counters);
        return cudaGetLastError();
    }

    cudaError_t operator()(const SplitKArgs& p, void* workspace, cudaStream_t stream = nullptr)
    {
        cudaError_t e = initialize(p, workspace, stream);
        return e == cudaSuccess ? run(stream) : e;
    }

private:
    SplitKArgs args_{};
    void*      workspace_ = nullptr;
};

class GemvRunner
{
public:
    explicit GemvRunner(size_t max_workspace)
    {
        throw_on_error(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        throw_on_error(cudaMalloc(&workspace_, max_workspace), "workspace");
    }
    ~GemvRunner()
    {
        cudaStreamSynchronize(stream_);
        cudaFree(workspace_);
        cudaStreamDestroy(stream_);
    }
    GemvRunner(const GemvRunner&) = delete;
    GemvRunner& operator=(const GemvRunner&) = delete;

    void multiply(const SplitKArgs& p)
    {
        throw_on_error(op_(p, workspace_, stream_), "splitk_gemv");
    }
    void wait() { throw_on_error(cudaStreamSynchronize(stream_), "sync"); }

private:
    cudaStream_t stream_    = nullptr;
    void*        workspace_ = nullptr;
    SplitKGemv   op_;
};
