// Example: first-arrival travel times on a layered velocity model.
// Every Lane owns one queue of work; lanes of different shots run side by side.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                                   \
    do {                                                                            \
        cudaError_t err_ = (call);                                                  \
        if (err_ != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                  \
                         cudaGetErrorString(err_));                                 \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

__global__ void init_times(float* t, int n, int source) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = i == source ? 0.f : 1e30f;
}

__global__ void sweep(const float* slowness, const float* t_in, float* t_out, int n, float h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = t_in[i];
    if (i > 0) best = fminf(best, t_in[i - 1] + 0.5f * h * (slowness[i] + slowness[i - 1]));
    if (i + 1 < n) best = fminf(best, t_in[i + 1] + 0.5f * h * (slowness[i] + slowness[i + 1]));
    t_out[i] = best;
}

class Lane {
public:
    Lane() { GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Lane() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Blocking: the caller may reuse `src` on return.
    void copy_in(float* dst, const float* src, size_t count) {
        GPU(cudaMemcpyAsync(dst, src, count * sizeof(float), cudaMemcpyHostToDevice, stream_));
        GPU(cudaStreamSynchronize(stream_));
    }

    // Blocking: `dst` is complete on return.
    void copy_out(float* dst, const float* src, size_t count) {
        GPU(cudaMemcpy(dst, src, count * sizeof(float), cudaMemcpyDeviceToHost));
    }

    cudaStream_t queue() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

struct ShotBuffers {
    float* slowness = nullptr;
    float* front = nullptr;
    float* back = nullptr;

    explicit ShotBuffers(int n) {
        GPU(cudaMalloc(&slowness, n * sizeof(float)));
        GPU(cudaMalloc(&front, n * sizeof(float)));
        GPU(cudaMalloc(&back, n * sizeof(float)));
    }
};

static const float* trace_shot(Lane& lane, ShotBuffers& b, int n, int source, int sweeps) {
    const int block = 256;
    const int grid = (n + block - 1) / block;
    init_times<<<grid, block, 0, lane.queue()>>>(b.front, n, source);
    float* in = b.front;
    float* out = b.back;
    for (int s = 0; s < sweeps; ++s) {
        sweep<<<grid, block, 0, lane.queue()>>>(b.slowness, in, out, n, 5.f);
        std::swap(in, out);
    }
    GPU(cudaGetLastError());
    return in;
}

int main() {
    const int n = 1 << 18;
    const int shots = 4;
    std::vector<float> model(n);
    for (int i = 0; i < n; ++i) model[i] = 1.f / (1500.f + 0.01f * i);

    std::vector<Lane> lanes(shots);
    std::vector<ShotBuffers> buffers;
    std::vector<const float*> fields(shots);
    for (int s = 0; s < shots; ++s) {
        buffers.emplace_back(n);
        lanes[s].copy_in(buffers[s].slowness, model.data(), model.size());
    }
    for (int s = 0; s < shots; ++s) {
        fields[s] = trace_shot(lanes[s], buffers[s], n, s * (n / shots), 400);
    }

    std::vector<float> times(n);
    for (int s = 0; s < shots; ++s) {
        lanes[s].copy_out(times.data(), fields[s], times.size());
        float latest = 0.f;
        for (float t : times) {
            if (t < 1e29f && t > latest) latest = t;
        }
        std::printf("shot %d: last arrival %.4f s\n", s, latest);
    }

    for (int s = 0; s < shots; ++s) {
        GPU(cudaStreamSynchronize(lanes[s].queue()));
        GPU(cudaFree(buffers[s].slowness));
        GPU(cudaFree(buffers[s].front));
        GPU(cudaFree(buffers[s].back));
    }
    return 0;
}
