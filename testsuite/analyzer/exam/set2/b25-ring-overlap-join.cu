// Ring reduce-scatter overlapped with a chunked GEMM.
#include <cuda_runtime.h>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#define OVL_CHECK_CUDA(expr)                                                   \
    do {                                                                       \
        const cudaError_t status = (expr);                                     \
        if (status != cudaSuccess)                                             \
            throw std::runtime_error(std::string(#expr) + ": " +               \
                                     cudaGetErrorString(status));              \
    } while (false)

namespace overlap {

__global__ void gemm_chunk(const float *a, const float *b, float *c, int m, int n, int k) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (col >= n || row >= m) return;
    float acc = 0.f;
    for (int i = 0; i < k; ++i) acc += a[row * k + i] * b[i * n + col];
    c[row * n + col] = acc;
}

__global__ void reduce_chunks(const float *staging, float *out, int chunks, size_t elems) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= elems) return;
    float acc = 0.f;
    for (int c = 0; c < chunks; ++c) acc += staging[c * elems + i];
    out[i] = acc;
}

struct Peer {
    float *outbox;         // peer-mapped memory that the next rank pulls from
    const float *inbox;    // chunk published by the previous rank, already complete
};

class RingOverlap {
public:
    RingOverlap(int chunks, int m, int n, int k) : chunks_(chunks), m_(m), n_(n), k_(k) {
        for (cudaStream_t *s : {&compute_, &send_, &recv_})
            OVL_CHECK_CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
        for (cudaEvent_t *e : {&start_, &stop_compute_, &stop_send_, &stop_recv_})
            OVL_CHECK_CUDA(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
        OVL_CHECK_CUDA(cudaMalloc(&staging_, bytes() * chunks_));
        OVL_CHECK_CUDA(cudaMalloc(&partial_, bytes() * chunks_));
    }
    ~RingOverlap() {
        cudaDeviceSynchronize();
        cudaFree(partial_);
        cudaFree(staging_);
        for (cudaEvent_t e : {start_, stop_compute_, stop_send_, stop_recv_}) cudaEventDestroy(e);
        for (cudaStream_t s : {compute_, send_, recv_}) cudaStreamDestroy(s);
    }

    void run(const float *a, const float *b, const std::vector<Peer> &peers, float *out, cudaStream_t main) {
        fork(main);
        const size_t elems = size_t(m_) * n_;
        for (int c = 0; c < chunks_; ++c) {
            float *mine = partial_ + c * elems;
            gemm_chunk<<<dim3((n_ + 127) / 128, m_), 128, 0, compute_>>>(a + size_t(c) * m_ * k_, b, mine, m_, n_, k_);
            OVL_CHECK_CUDA(cudaEventRecord(stop_compute_, compute_));
            OVL_CHECK_CUDA(cudaStreamWaitEvent(send_, stop_compute_, 0));
            OVL_CHECK_CUDA(cudaMemcpyAsync(peers[c].outbox, mine, bytes(), cudaMemcpyDeviceToDevice, send_));
            OVL_CHECK_CUDA(cudaMemcpyAsync(staging_ + c * elems, peers[c].inbox, bytes(), cudaMemcpyDeviceToDevice, recv_));
        }
        join(main);
        reduce_chunks<<<unsigned((elems + 255) / 256), 256, 0, main>>>(staging_, out, chunks_, elems);
        OVL_CHECK_CUDA(cudaGetLastError());
    }

private:
    size_t bytes() const { return sizeof(float) * m_ * n_; }

    void fork(cudaStream_t main) {
        OVL_CHECK_CUDA(cudaEventRecord(start_, main));
        for (cudaStream_t s : {compute_, send_, recv_}) OVL_CHECK_CUDA(cudaStreamWaitEvent(s, start_, 0));
    }

    void join(cudaStream_t main) {
        OVL_CHECK_CUDA(cudaEventRecord(stop_compute_, compute_));
        OVL_CHECK_CUDA(cudaStreamWaitEvent(main, stop_compute_, 0));
        OVL_CHECK_CUDA(cudaEventRecord(stop_send_, send_));
        OVL_CHECK_CUDA(cudaStreamWaitEvent(main, stop_send_, 0));
    }

    int chunks_, m_, n_, k_;
    cudaStream_t compute_{}, send_{}, recv_{};
    cudaEvent_t start_{}, stop_compute_{}, stop_send_{}, stop_recv_{};
    float *staging_ = nullptr;
    float *partial_ = nullptr;
};

} // namespace overlap
