#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CUDA_CHECK(err)                                                                   \
    do {                                                                                  \
        cudaError_t err_ = (err);                                                         \
        if (err_ != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

static __device__ __forceinline__ void pdl_trigger() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

static __device__ __forceinline__ void pdl_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// One block per row. Writes the quantised row and its scale.
template <int block_size>
static __global__ void rms_quant(const float * __restrict__ x, int8_t * __restrict__ q, float * __restrict__ d,
                                 const int ncols, const float eps) {
    pdl_trigger();

    const int row = blockIdx.x;
    const int tid = threadIdx.x;
    x += (int64_t) row * ncols;
    q += (int64_t) row * ncols;

    __shared__ float s_sum[block_size];
    float sum = 0.0f;
    for (int col = tid; col < ncols; col += block_size) {
        sum += x[col] * x[col];
    }
    s_sum[tid] = sum;
    __syncthreads();
    for (int o = block_size / 2; o > 0; o >>= 1) {
        if (tid < o) {
            s_sum[tid] += s_sum[tid + o];
        }
        __syncthreads();
    }
    const float scale = rsqrtf(s_sum[0] / ncols + eps);
    for (int col = tid; col < ncols; col += block_size) {
        q[col] = (int8_t) max(-127.0f, min(127.0f, 32.0f * scale * x[col]));
    }
    if (tid == 0) {
        d[row] = 1.0f / (32.0f * scale);
    }
}

// y[row, out] = d[row] * sum_i w[out, i] * q[row, i]
template <int warp_size>
static __global__ void mul_mat_vec_q(const int8_t * __restrict__ w, const int8_t * q, const float * d,
                                     float * __restrict__ y, const int ncols, const int nout) {
    const int out = blockIdx.x;
    const int row = blockIdx.y;

    // weights do not depend on the previous kernel
    const int w_first = w[(int64_t) out * ncols + threadIdx.x];

    pdl_wait();

    const float scale = d[row];
    int sum = w_first * q[(int64_t) row * ncols + threadIdx.x];
    for (int i = threadIdx.x + warp_size; i < ncols; i += warp_size) {
        sum += w[(int64_t) out * ncols + i] * q[(int64_t) row * ncols + i];
    }
    for (int o = warp_size / 2; o > 0; o >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, o);
    }
    if (threadIdx.x == 0) {
        y[(int64_t) row * nout + out] = scale * sum;
    }
}

struct pdl_launch_params {
    dim3 grid;
    dim3 block;
    cudaStream_t stream;
    bool dependent;
};

template <typename... KArgs, typename... Args>
static void pdl_launch(const pdl_launch_params & p, void (*kernel)(KArgs...), Args &&... args) {
    cudaLaunchAttribute attr[1];
    attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr[0].val.programmaticStreamSerializationAllowed = 1;

    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = p.grid;
    cfg.blockDim = p.block;
    cfg.stream = p.stream;
    cfg.attrs = attr;
    cfg.numAttrs = p.dependent ? 1 : 0;
    CUDA_CHECK(cudaLaunchKernelEx(&cfg, kernel, std::forward<Args>(args)...));
}

static void ffn_forward(const float * x, const int8_t * w, int8_t * q, float * d, float * y, int nrows, int ncols, int nout,
                        cudaStream_t stream) {
    const pdl_launch_params norm = { dim3(nrows), dim3(256), stream, false };
    pdl_launch(norm, rms_quant<256>, x, q, d, ncols, 1e-6f);

    const pdl_launch_params gemv = { dim3(nout, nrows), dim3(32), stream, true };
    pdl_launch(gemv, mul_mat_vec_q<32>, w, (const int8_t *) q, (const float *) d, y, ncols, nout);
}

int main() {
    const int nrows = 4, ncols = 4096, nout = 4096;
    cudaStream_t stream;
    float *x, *d, *y;
    int8_t *w, *q;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&x, sizeof(float) * nrows * ncols));
    CUDA_CHECK(cudaMalloc(&y, sizeof(float) * nrows * nout));
    CUDA_CHECK(cudaMalloc(&d, sizeof(float) * nrows));
    CUDA_CHECK(cudaMalloc(&w, (size_t) nout * ncols));
    CUDA_CHECK(cudaMalloc(&q, (size_t) nrows * ncols));
    CUDA_CHECK(cudaMemsetAsync(x, 0, sizeof(float) * nrows * ncols, stream));
    CUDA_CHECK(cudaMemsetAsync(w, 1, (size_t) nout * ncols, stream));
    for (int il = 0; il < 8; il++) {
        ffn_forward(x, w, q, d, y, nrows, ncols, nout, stream);
    }
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaFree(x));
    CUDA_CHECK(cudaFree(y));
    CUDA_CHECK(cudaFree(d));
    CUDA_CHECK(cudaFree(w));
    CUDA_CHECK(cudaFree(q));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
