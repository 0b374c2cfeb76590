// Fused rms-norm + gated output, second kernel launched early with PDL.
#include <cuda_runtime.h>

namespace fused {

template <int kThreads>
__device__ float block_sum(float v)
{
    __shared__ float s[kThreads];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int o = kThreads / 2; o > 0; o /= 2) {
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
        __syncthreads();
    }
    return s[0];
}

__global__ void rms_stats(const float *__restrict__ x, float *rstd, int dim, float eps)
{
    const float *row = x + (size_t)blockIdx.x * dim;
    float acc = 0.f;
    cudaTriggerProgrammaticLaunchCompletion();
    for (int i = threadIdx.x; i < dim; i += 256) acc += row[i] * row[i];
    acc = block_sum<256>(acc);
    if (threadIdx.x == 0) rstd[blockIdx.x] = rsqrtf(acc / dim + eps);
}

struct GateArgs {
    const float *x;
    const float *rstd;     // written by rms_stats
    const float *gamma;    // weights
    const float *gate;     // weights
    float *out;
    int dim;
};

struct RowParams {
    const float *x;
    float *out;
    float scale;

    __device__ RowParams(const GateArgs &args, int row)
        : x(args.x + (size_t)row * args.dim),
          out(args.out + (size_t)row * args.dim),
          scale(args.rstd[row])
    {
    }
};

__global__ void apply_gate(GateArgs args)
{
    __shared__ float gamma[1024];
    __shared__ float gate[1024];
    const RowParams p(args, blockIdx.x);

    for (int i = threadIdx.x; i < args.dim; i += blockDim.x) {
        gamma[i] = args.gamma[i];
        gate[i] = args.gate[i];
    }
    __syncthreads();

    cudaGridDependencySynchronize();
    for (int i = threadIdx.x; i < args.dim; i += blockDim.x) {
        const float v = p.x[i] * p.scale * gamma[i];
        p.out[i] = v / (1.f + __expf(-gate[i] * v));
    }
}

class GatedNorm {
public:
    GatedNorm(const float *gamma, const float *gate, int dim) : gamma_(gamma), gate_(gate), dim_(dim) {}

    // dim must not exceed 1024
    cudaError_t operator()(const float *x, float *rstd, float *out, int rows, cudaStream_t stream) const
    {
        rms_stats<<<rows, 256, 0, stream>>>(x, rstd, dim_, 1e-6f);
        if (cudaError_t e = cudaGetLastError()) return e;

        cudaLaunchAttribute attrs[1];
        attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attrs[0].val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(rows);
        config.blockDim = dim3(128);
        config.stream = stream;
        config.attrs = attrs;
        config.numAttrs = 1;
        GateArgs args{x, rstd, gamma_, gate_, out, dim_};
        return cudaLaunchKernelEx(&config, apply_gate, args);
    }

private:
    const float *gamma_, *gate_;
    int dim_;
};

} // namespace fused
