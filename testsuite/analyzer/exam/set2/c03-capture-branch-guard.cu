// Records a two-branch image operator as a graph. The branch guard forks in its
// constructor and joins in its destructor.
#include <cuda_runtime.h>
#include <stdexcept>
#include <vector>

namespace imgraph {

static void chk(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorName(e)); }

__global__ void blur_x(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < w) out[y * w + x] = (in[y * w + max(x - 1, 0)] + in[y * w + x] + in[y * w + min(x + 1, w - 1)]) / 3;
}
__global__ void grad_y(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < w) out[y * w + x] = in[min(y + 1, h - 1) * w + x] - in[max(y - 1, 0) * w + x];
}
__global__ void combine(const float* a, const float* b, const float* weights, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weights[0] * a[i] + weights[1] * b[i];
}

class Branch {
public:
    Branch(cudaStream_t trunk, cudaStream_t side) : trunk_(trunk), side_(side) {
        hop(trunk_, side_);
    }
    ~Branch() { hop(side_, trunk_); }
    Branch(const Branch&) = delete;
    operator cudaStream_t() const { return side_; }
private:
    static void hop(cudaStream_t from, cudaStream_t to) {
        cudaEvent_t e = nullptr;
        cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        cudaEventRecord(e, from);
        cudaStreamWaitEvent(to, e, 0);
        cudaEventDestroy(e);
    }
    cudaStream_t trunk_, side_;
};

class EdgeFilter {
public:
    EdgeFilter(int w, int h, float wa, float wb) : w_(w), h_(h) {
        chk(cudaStreamCreateWithFlags(&trunk_, cudaStreamNonBlocking));
        chk(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
        chk(cudaMalloc(&tmp_, 2 * sizeof(float) * w * h));
        chk(cudaMalloc(&weights_, 2 * sizeof(float)));
        chk(cudaMallocHost(&staging_, 2 * sizeof(float)));
        staging_[0] = wa;
        staging_[1] = wb;
    }
    ~EdgeFilter() {
        cudaStreamSynchronize(trunk_);
        if (exec_) cudaGraphExecDestroy(exec_);
        cudaFreeHost(staging_);
        cudaFree(weights_);
        cudaFree(tmp_);
        cudaStreamDestroy(side_);
        cudaStreamDestroy(trunk_);
    }
    void record(const float* in, float* out) {
        const dim3 grid((w_ + 127) / 128, h_);
        const int n = w_ * h_;
        float* a = tmp_;
        float* b = tmp_ + n;
        cudaGraph_t g;
        chk(cudaStreamBeginCapture(trunk_, cudaStreamCaptureModeThreadLocal));
        chk(cudaMemcpyAsync(weights_, staging_, 2 * sizeof(float), cudaMemcpyHostToDevice, trunk_));
        {
            Branch br(trunk_, side_);
            grad_y<<<grid, 128, 0, br>>>(in, b, w_, h_);
            blur_x<<<grid, 128, 0, trunk_>>>(in, a, w_, h_);
        }
        combine<<<(n + 255) / 256, 256, 0, trunk_>>>(a, b, weights_, out, n);
        chk(cudaStreamEndCapture(trunk_, &g));
        chk(cudaGraphInstantiate(&exec_, g, 0));
        chk(cudaGraphDestroy(g));
    }
    // The weights may be changed between runs.
    void set_weights(float wa, float wb) {
        chk(cudaStreamSynchronize(trunk_));
        staging_[0] = wa;
        staging_[1] = wb;
    }
    void run() { chk(cudaGraphLaunch(exec_, trunk_)); }
    void wait() { chk(cudaStreamSynchronize(trunk_)); }
private:
    int w_, h_;
    cudaStream_t trunk_{}, side_{};
    float *tmp_{}, *weights_{}, *staging_{};
    cudaGraphExec_t exec_{};
};

} // namespace imgraph
