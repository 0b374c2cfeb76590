// Two layer kernels chained with programmatic dependent launch. The second one
// stages its weights before the dependency wait, and its activations after it.
#include <cuda_runtime.h>

namespace mlp {

constexpr int kDim = 256;

struct Layer {
    const float* weight;   // kDim x kDim, constant after loading
    const float* bias;     // kDim, constant after loading
};

struct WeightTile {
    float bias;
    float head[8];

    __device__ WeightTile(const Layer& l, int col) : bias(l.bias[col])
    {
        for (int i = 0; i < 8; ++i) head[i] = l.weight[i * kDim + col];
    }
};

__device__ inline float dot_column(const Layer& l, const WeightTile& w, const float* x, int col)
{
    float acc = w.bias;
    for (int i = 0; i < 8; ++i) acc = fmaf(x[i], w.head[i], acc);
    for (int i = 8; i < kDim; ++i) acc = fmaf(x[i], l.weight[i * kDim + col], acc);
    return acc;
}

__global__ void layer_kernel(Layer l, const float* in, float* out, bool relu)
{
    __shared__ float x[kDim];
    const int col = threadIdx.x;
    const WeightTile w(l, col);

    cudaGridDependencySynchronize();
    x[col] = in[blockIdx.x * kDim + col];
    __syncthreads();
    cudaTriggerProgrammaticLaunchCompletion();

    float y = dot_column(l, w, x, col);
    out[blockIdx.x * kDim + col] = relu ? fmaxf(y, 0.f) : y;
}

class Mlp {
public:
    Mlp(const Layer* layers, int count) : layers_(layers), count_(count) {}

    // scratch0 and scratch1 hold rows * kDim floats each; the result is in the
    // buffer that is returned.
    const float* forward(const float* in, float* scratch0, float* scratch1, int rows, cudaStream_t stream) const
    {
        const float* src = in;
        float* dst = scratch0;
        for (int i = 0; i < count_; ++i) {
            launch(i > 0, rows, stream, layers_[i], src, dst, i + 1 < count_);
            src = dst;
            dst = dst == scratch0 ? scratch1 : scratch0;
        }
        return src;
    }

private:
    static void launch(bool dependent, int rows, cudaStream_t stream, Layer l, const float* in, float* out, bool relu)
    {
        cudaLaunchAttribute attr;
        attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attr.val.programmaticStreamSerializationAllowed = dependent ? 1 : 0;
        cudaLaunchConfig_t cfg{};
        cfg.gridDim = dim3(rows);
        cfg.blockDim = dim3(kDim);
        cfg.stream = stream;
        cfg.attrs = &attr;
        cfg.numAttrs = 1;
        cudaLaunchKernelEx(&cfg, layer_kernel, l, in, out, relu);
    }

    const Layer* layers_;
    int count_;
};

} // namespace mlp
