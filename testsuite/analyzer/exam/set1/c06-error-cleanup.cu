#include <cuda_runtime.h>
#include <cstdint>
#include <cstdlib>
#include <cstdio>

// Histogram of a page-locked image; one exit for all errors.

namespace img {

enum class Status { Ok, OutOfMemory, LaunchFailed, CopyFailed };

__global__ void histogram(const uint8_t* pixels, size_t n, unsigned* bins)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        atomicAdd(&local[pixels[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

static void release(cudaStream_t stream, uint8_t* d_pixels, unsigned* d_bins, unsigned* h_bins)
{
    // Something may still be in flight when we come from an error branch.
    if (stream) {
        (void)cudaStreamSynchronize(stream);
        (void)cudaStreamDestroy(stream);
    }
    if (d_pixels) (void)cudaFree(d_pixels);
    if (d_bins) (void)cudaFree(d_bins);
    if (h_bins) (void)cudaFreeHost(h_bins);
}

Status imageHistogram(const uint8_t* pixels, size_t n, unsigned out[256])
{
    Status       st       = Status::Ok;
    cudaStream_t stream   = nullptr;
    uint8_t*     d_pixels = nullptr;
    unsigned*    d_bins   = nullptr;
    unsigned*    h_bins   = nullptr;

    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void**)&d_pixels, n) != cudaSuccess ||
        cudaMalloc((void**)&d_bins, 256 * sizeof(unsigned)) != cudaSuccess ||
        cudaMallocHost((void**)&h_bins, 256 * sizeof(unsigned)) != cudaSuccess) {
        st = Status::OutOfMemory;
        goto done;
    }

    if (cudaMemsetAsync(d_bins, 0, 256 * sizeof(unsigned), stream) != cudaSuccess ||
        cudaMemcpyAsync(d_pixels, pixels, n, cudaMemcpyHostToDevice, stream) != cudaSuccess) {
        st = Status::CopyFailed;
        goto done;
    }

    histogram<<<128, 256, 0, stream>>>(d_pixels, n, d_bins);
    if (cudaGetLastError() != cudaSuccess) {
        st = Status::LaunchFailed;
        goto done;
    }

    if (cudaMemcpyAsync(h_bins, d_bins, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess) {
        st = Status::CopyFailed;
        goto done;
    }
    for (int i = 0; i < 256; ++i) out[i] = h_bins[i];

done:
    release(stream, d_pixels, d_bins, h_bins);
    return st;
}

}  // namespace img
