#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

static void require(cudaError_t rc, const char* what) {
    if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

struct HeadShape {
    int tokens;
    int heads;
    int dim;
    size_t elements() const { return static_cast<size_t>(tokens) * heads * dim; }
};

__global__ void rotary(float* q, float* k, int dim, size_t n) {
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    float angle = static_cast<float>(i % dim) * 0.01f;
    q[i] = q[i] * cosf(angle);
    k[i] = k[i] * sinf(angle);
}

__global__ void attend(const float* q, const float* k, const float* v, float* out, HeadShape s) {
    int t = blockIdx.x;
    int h = blockIdx.y;
    extern __shared__ float acc[];
    int d = threadIdx.x;
    acc[d] = 0.f;
    for (int j = 0; j <= t; ++j) {
        size_t at = (static_cast<size_t>(j) * s.heads + h) * s.dim + d;
        size_t mine = (static_cast<size_t>(t) * s.heads + h) * s.dim + d;
        acc[d] += q[mine] * k[at] * v[at];
    }
    out[(static_cast<size_t>(t) * s.heads + h) * s.dim + d] = acc[d];
}

__global__ void project(const float* in, const float* bias, float* out, size_t n) {
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = in[i] + bias[i % 64];
}

template <typename Kernel>
class LaunchSpec {
public:
    explicit LaunchSpec(Kernel k) : kernel_(k) {}
    LaunchSpec& grid(dim3 g) { grid_ = g; return *this; }
    LaunchSpec& block(dim3 b) { block_ = b; return *this; }
    LaunchSpec& smem(size_t bytes) { smem_ = bytes; return *this; }
    LaunchSpec& on(cudaStream_t s) { stream_ = s; return *this; }

    template <typename... Args>
    void operator()(Args... args) const {
        kernel_<<<grid_, block_, smem_, stream_>>>(args...);
        require(cudaGetLastError(), "launch");
    }

private:
    Kernel kernel_;
    dim3 grid_{1}, block_{128};
    size_t smem_ = 0;
    cudaStream_t stream_ = nullptr;
};

template <typename Kernel>
LaunchSpec<Kernel> spec(Kernel k) { return LaunchSpec<Kernel>(k); }

class AttentionForward {
public:
    explicit AttentionForward(HeadShape shape) : shape_(shape) {
        require(cudaMalloc(&context_, shape_.elements() * sizeof(float)), "context");
    }
    ~AttentionForward() { cudaFree(context_); }

    void run(float* q, float* k, const float* v, const float* bias, float* out, cudaStream_t stream) {
        const size_t n = shape_.elements();
        const dim3 flat(static_cast<unsigned>((n + 255) / 256));
        spec(rotary).grid(flat).block(256).on(stream)(q, k, shape_.dim, n);
        spec(attend).grid(dim3(shape_.tokens, shape_.heads)).block(shape_.dim).smem(shape_.dim * sizeof(float)).on(stream)(q, k, v, context_, shape_);
        spec(project).grid(flat).block(256).on(stream)(context_, bias, out, n);
    }

private:
    HeadShape shape_;
    float* context_ = nullptr;
};

int main() {
    const HeadShape shape{128, 8, 64};
    const size_t bytes = shape.elements() * sizeof(float);
    cudaStream_t stream;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    float *q, *k, *v, *bias, *out;
    for (float** p : {&q, &k, &v, &out}) require(cudaMalloc(p, bytes), "malloc");
    require(cudaMalloc(&bias, 64 * sizeof(float)), "malloc");
    require(cudaMemsetAsync(bias, 0, 64 * sizeof(float), stream), "memset");
    for (float* p : {q, k, v}) require(cudaMemsetAsync(p, 0, bytes, stream), "memset");
    {
        AttentionForward forward(shape);
        for (int layer = 0; layer < 4; ++layer) forward.run(q, k, v, bias, out, stream);
        require(cudaStreamSynchronize(stream), "sync");
    }
    for (float* p : {q, k, v, out, bias}) cudaFree(p);
    cudaStreamDestroy(stream);
    return 0;
}
