// Two-GPU heat equation with halo rows pushed by peer copies.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#define HALO_CHECK(...)                                                              \
    do {                                                                             \
        cudaError_t hc_ = (__VA_ARGS__);                                             \
        if (hc_ != cudaSuccess) {                                                    \
            fprintf(stderr, "halo: %s at line %d\n", cudaGetErrorString(hc_), __LINE__); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

__global__ void heat_step(const float* in, float* out, int w, int rows, float k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y + 1;
    if (x >= w - 1 || y > rows) return;
    int c = y * w + x;
    out[c] = in[c] + k * (in[c - 1] + in[c + 1] + in[c - w] + in[c + w] - 4 * in[c]);
}

struct Part {
    int device;
    float* cur;                    // rows + 2 rows, halo rows included
    float* nxt;
    cudaStream_t stream;
    cudaEvent_t stepped;           // own step done
    cudaEvent_t pushed;            // own halo row written into the neighbour
};

class TwoGpuHeat {
public:
    TwoGpuHeat(int w, int rows) : w_(w), rows_(rows)
    {
        for (int d = 0; d < 2; ++d) {
            Part& p = part_[d];
            p.device = d;
            HALO_CHECK(cudaSetDevice(d));
            HALO_CHECK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
            HALO_CHECK(cudaEventCreateWithFlags(&p.stepped, cudaEventDisableTiming));
            HALO_CHECK(cudaEventCreateWithFlags(&p.pushed, cudaEventDisableTiming));
            for (float** b : {&p.cur, &p.nxt}) {
                HALO_CHECK(cudaMalloc(b, bytes()));
                HALO_CHECK(cudaMemsetAsync(*b, 0, bytes(), p.stream));
            }
            HALO_CHECK(cudaEventRecord(p.stepped, p.stream));
        }
    }
    ~TwoGpuHeat()
    {
        for (Part& p : part_) {
            cudaSetDevice(p.device);
            cudaStreamSynchronize(p.stream);
        }
        for (Part& p : part_) {
            cudaSetDevice(p.device);
            cudaFree(p.cur);
            cudaFree(p.nxt);
            cudaEventDestroy(p.pushed);
            cudaEventDestroy(p.stepped);
            cudaStreamDestroy(p.stream);
        }
    }
    void run(int steps, float k)
    {
        for (int s = 0; s < steps; ++s) {
            exchange();
            for (Part& p : part_) step(p, part_[1 - p.device], k);
        }
        for (Part& p : part_) HALO_CHECK(cudaStreamSynchronize(p.stream));
    }

private:
    size_t bytes() const { return sizeof(float) * w_ * (rows_ + 2); }

    void exchange()
    {
        for (Part& p : part_) {
            Part& q = part_[1 - p.device];
            HALO_CHECK(cudaSetDevice(p.device));
            HALO_CHECK(cudaStreamWaitEvent(p.stream, q.stepped, 0));
            const float* src = p.device == 0 ? p.cur + w_ * rows_ : p.cur + w_;
            float* dst = p.device == 0 ? q.cur : q.cur + w_ * (rows_ + 1);
            HALO_CHECK(cudaMemcpyPeerAsync(dst, q.device, src, p.device, sizeof(float) * w_, p.stream));
            HALO_CHECK(cudaEventRecord(p.pushed, p.stream));
        }
    }
    void step(Part& p, Part& q, float k)
    {
        HALO_CHECK(cudaSetDevice(p.device));
        HALO_CHECK(cudaStreamWaitEvent(p.stream, q.pushed, 0));
        heat_step<<<dim3((w_ + 127) / 128, rows_), 128, 0, p.stream>>>(p.cur, p.nxt, w_, rows_, k);
        HALO_CHECK(cudaGetLastError());
        HALO_CHECK(cudaEventRecord(p.stepped, p.stream));
        float* t = p.cur;
        p.cur = p.nxt;
        p.nxt = t;
    }

    int w_, rows_;
    std::array<Part, 2> part_{};
};
