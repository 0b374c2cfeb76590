#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#define VOL_CHECK(expr)                                                       \
    if (cudaError_t v_ = (expr); v_ != cudaSuccess) {                         \
        std::fprintf(stderr, "%s: %s\n", #expr, cudaGetErrorString(v_));      \
        std::abort();                                                         \
    }

__global__ void sweepAxis(const float* in, float* out, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i] + 0.25f * (in[(i + stride) % n] + in[(i + n - stride) % n]);
}

__global__ void merge(const float* x, const float* y, const float* z, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (x[i] + y[i] + z[i]) / 3.0f;
}

class AxisFilter {
public:
    AxisFilter(int n, int stride) : n_(n), stride_(stride) {
        VOL_CHECK(cudaStreamCreate(&stream_));
        VOL_CHECK(cudaMalloc(&out_, n * sizeof(float)));
    }
    ~AxisFilter() {
        cudaStreamSynchronize(stream_);
        cudaFree(out_);
        cudaStreamDestroy(stream_);
    }
    AxisFilter(const AxisFilter&) = delete;

    void run(const float* volume) { sweepAxis<<<(n_ + 255) / 256, 256, 0, stream_>>>(volume, out_, n_, stride_); }
    const float* result() const { return out_; }

private:
    int n_, stride_;
    cudaStream_t stream_{};
    float* out_ = nullptr;
};

class VolumeSmoother {
public:
    explicit VolumeSmoother(int edge) : n_(edge * edge * edge) {
        VOL_CHECK(cudaMalloc(&volume_, n_ * sizeof(float)));
        for (int stride : {1, edge, edge * edge}) axes_.push_back(std::make_unique<AxisFilter>(n_, stride));
    }
    ~VolumeSmoother() {
        cudaDeviceSynchronize();
        axes_.clear();
        cudaFree(volume_);
    }

    void load(const std::vector<float>& host) { VOL_CHECK(cudaMemcpy(volume_, host.data(), n_ * sizeof(float), cudaMemcpyHostToDevice)); }

    void smooth(int passes) {
        for (int p = 0; p < passes; ++p) {
            for (auto& a : axes_) a->run(volume_);
            merge<<<(n_ + 255) / 256, 256>>>(axes_[0]->result(), axes_[1]->result(), axes_[2]->result(), volume_, n_);
        }
    }

    void store(std::vector<float>& host) const { VOL_CHECK(cudaMemcpy(host.data(), volume_, n_ * sizeof(float), cudaMemcpyDeviceToHost)); }

private:
    int n_;
    float* volume_ = nullptr;
    std::vector<std::unique_ptr<AxisFilter>> axes_;
};

int main() {
    constexpr int kEdge = 96;
    std::vector<float> voxels(kEdge * kEdge * kEdge);
    std::iota(voxels.begin(), voxels.end(), 0.0f);
    VolumeSmoother smoother(kEdge);
    smoother.load(voxels);
    smoother.smooth(8);
    smoother.store(voxels);
    std::printf("%f\n", voxels[kEdge]);
    return 0;
}
