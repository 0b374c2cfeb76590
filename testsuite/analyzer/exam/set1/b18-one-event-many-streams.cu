#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>
#include <vector>

static void gpuAssert(cudaError_t code, int line)
{
    if (code == cudaSuccess)
        return;
    std::cerr << "GPUassert line " << line << ": " << cudaGetErrorString(code) << '\n';
    std::exit(code);
}
#define gpuErrchk(ans) gpuAssert((ans), __LINE__)

// Divergence of a vector field that is stored in slabs; each slab on its own
// worker stream, the norm on the stream of the caller.
class SlabOperator
{
public:
    SlabOperator(int workers, int slabPoints) : slabPoints_(slabPoints), workers_(workers)
    {
        for (auto& w : workers_)
            gpuErrchk(cudaStreamCreateWithFlags(&w, cudaStreamNonBlocking));
        gpuErrchk(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
        gpuErrchk(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming));
        gpuErrchk(cudaMalloc(&partial_, sizeof(double) * workers));
    }

    ~SlabOperator()
    {
        cudaDeviceSynchronize();
        for (auto w : workers_)
            cudaStreamDestroy(w);
        cudaEventDestroy(finished_);
        cudaEventDestroy(fork_);
        cudaFree(partial_);
    }

    SlabOperator(const SlabOperator&) = delete;

    void divergenceNorm(const double* u, double* div, double* norm, cudaStream_t stream);

private:
    int slabPoints_;
    std::vector<cudaStream_t> workers_;
    cudaEvent_t fork_ = nullptr;
    cudaEvent_t finished_ = nullptr;
    double* partial_ = nullptr;
};

__global__ void slabDivergence(const double* u, double* div, double* partial, int n)
{
    __shared__ double acc[256];
    double mine = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double d = i + 1 < n ? u[i + 1] - u[i] : u[0] - u[i];
        div[i] = d;
        mine += d * d;
    }
    acc[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            acc[threadIdx.x] += acc[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *partial = acc[0];
}

__global__ void sumPartials(const double* partial, int count, double* norm)
{
    double s = 0.0;
    for (int i = 0; i < count; ++i)
        s += partial[i];
    *norm = sqrt(s);
}

void SlabOperator::divergenceNorm(const double* u, double* div, double* norm, cudaStream_t stream)
{
    gpuErrchk(cudaEventRecord(fork_, stream));
    for (size_t k = 0; k < workers_.size(); ++k) {
        size_t first = k * slabPoints_;
        gpuErrchk(cudaStreamWaitEvent(workers_[k], fork_, 0));
        slabDivergence<<<1, 256, 0, workers_[k]>>>(u + first, div + first, partial_ + k, slabPoints_);
        gpuErrchk(cudaGetLastError());
        gpuErrchk(cudaEventRecord(finished_, workers_[k]));
    }
    gpuErrchk(cudaStreamWaitEvent(stream, finished_, 0));
    sumPartials<<<1, 1, 0, stream>>>(partial_, static_cast<int>(workers_.size()), norm);
    gpuErrchk(cudaGetLastError());
}
