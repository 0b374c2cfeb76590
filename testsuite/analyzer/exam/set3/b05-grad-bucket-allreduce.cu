#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

namespace zero {

inline void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); abort(); }
}
inline void check(ncclResult_t r, const char* what)
{
    if (r != ncclSuccess) { fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(r)); abort(); }
}
#define DS_CHECK(x) ::zero::check((x), #x)

__global__ void backward_kernel(float* grad, size_t n, float seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        grad[i] = seed * (float)i;
}

__global__ void average_kernel(float* flat, size_t n, float inv_world)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        flat[i] *= inv_world;
}

// Flat bucket of "independent parallel gradients"; reduced on its own stream when it is full.
struct IpgBucket {
    float* flat = nullptr;
    size_t capacity = 0;
    size_t elements = 0;
    std::set<cudaStream_t> copy_streams;
};

class StageTwoOptimizer {
public:
    StageTwoOptimizer(ncclComm_t comm, int world, size_t bucket_elems) : comm_(comm), world_(world)
    {
        DS_CHECK(cudaStreamCreateWithFlags(&reduction_stream_, cudaStreamNonBlocking));
        DS_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
        DS_CHECK(cudaMalloc(&bucket_.flat, bucket_elems * sizeof(float)));
        bucket_.capacity = bucket_elems;
    }
    ~StageTwoOptimizer()
    {
        cudaStreamSynchronize(reduction_stream_);
        cudaFree(bucket_.flat);
        cudaEventDestroy(ready_);
        cudaStreamDestroy(reduction_stream_);
    }

    void add_grad(const float* grad, size_t n, cudaStream_t stream)
    {
        if (bucket_.elements + n > bucket_.capacity) reduce_ipg_grads(stream);
        DS_CHECK(cudaMemcpyAsync(bucket_.flat + bucket_.elements, grad, n * sizeof(float), cudaMemcpyDeviceToDevice, stream));
        bucket_.elements += n;
        bucket_.copy_streams.insert(stream);
    }

    // Averages what is in the bucket and makes the bucket reusable.
    void reduce_ipg_grads(cudaStream_t current)
    {
        if (bucket_.elements == 0) return;
        average_tensor(current);
        DS_CHECK(cudaStreamSynchronize(reduction_stream_));
        bucket_.elements = 0;
        bucket_.copy_streams.clear();
    }

private:
    void average_tensor(cudaStream_t current)
    {
        DS_CHECK(cudaEventRecord(ready_, current));
        DS_CHECK(cudaStreamWaitEvent(reduction_stream_, ready_, 0));
        average_kernel<<<256, 256, 0, reduction_stream_>>>(bucket_.flat, bucket_.elements, 1.0f / world_);
        DS_CHECK(cudaGetLastError());
        DS_CHECK(ncclAllReduce(bucket_.flat, bucket_.flat, bucket_.elements, ncclFloat, ncclSum, comm_, reduction_stream_));
    }

    ncclComm_t comm_;
    int world_;
    IpgBucket bucket_;
    cudaStream_t reduction_stream_{};
    cudaEvent_t ready_{};
};

}  // namespace zero

int main()
{
    using namespace zero;
    int dev = 0;
    ncclComm_t comm;
    DS_CHECK(ncclCommInitAll(&comm, 1, &dev));
    constexpr size_t n = 1 << 22;
    std::array<cudaStream_t, 3> autograd;
    std::vector<float*> grads(autograd.size());
    for (auto& s : autograd) DS_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& g : grads) DS_CHECK(cudaMalloc(&g, n * sizeof(float)));
    {
        StageTwoOptimizer opt(comm, 1, n * grads.size());
        for (int step = 0; step < 4; ++step) {
            for (size_t i = 0; i < grads.size(); ++i) {
                backward_kernel<<<128, 256, 0, autograd[i]>>>(grads[i], n, 0.5f + i);
                DS_CHECK(cudaGetLastError());
                opt.add_grad(grads[i], n, autograd[i]);
            }
            opt.reduce_ipg_grads(autograd.back());
        }
    }
    for (auto& s : autograd) { DS_CHECK(cudaStreamSynchronize(s)); DS_CHECK(cudaStreamDestroy(s)); }
    for (auto& g : grads) DS_CHECK(cudaFree(g));
    DS_CHECK(ncclCommDestroy(comm));
    return 0;
}
