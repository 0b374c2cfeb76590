#include <cuda_runtime.h>
#include <vector>
#include <iostream>
#include <cstdlib>

#define NVTE_LIKE_CHECK(status_)                                                      \
  do {                                                                                \
    cudaError_t status = (status_);                                                   \
    if (status != cudaSuccess) {                                                      \
      std::cerr << "CUDA Error: " << cudaGetErrorString(status) << std::endl;         \
      std::abort();                                                                   \
    }                                                                                 \
  } while (false)

__global__ void scale_chunk_kernel(const float *in, float *out, float alpha, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    out[i] = alpha * in[i];
}

__global__ void reduce_chunks_kernel(const float *chunks, const float *local, float *out, int count, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    float acc = local[i];
    for (int c = 0; c < count; c++) acc += chunks[c * n + i];
    out[i] = acc;
  }
}

class CommOverlapBase {
 public:
  virtual ~CommOverlapBase() {
    cudaStreamSynchronize(_stream_compute);
    cudaStreamSynchronize(_stream_send);
    cudaStreamSynchronize(_stream_recv);
    cudaEventDestroy(_start_comm);
    cudaEventDestroy(_stop_compute);
    cudaEventDestroy(_stop_send);
    cudaEventDestroy(_stop_recv);
    cudaStreamDestroy(_stream_recv);
    cudaStreamDestroy(_stream_send);
    cudaStreamDestroy(_stream_compute);
  }

 protected:
  CommOverlapBase() {
    NVTE_LIKE_CHECK(cudaStreamCreateWithFlags(&_stream_compute, cudaStreamNonBlocking));
    NVTE_LIKE_CHECK(cudaStreamCreateWithFlags(&_stream_send, cudaStreamNonBlocking));
    NVTE_LIKE_CHECK(cudaStreamCreateWithFlags(&_stream_recv, cudaStreamNonBlocking));
    for (cudaEvent_t *e : {&_start_comm, &_stop_compute, &_stop_send, &_stop_recv})
      NVTE_LIKE_CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  }

  void fork(cudaStream_t main) {
    NVTE_LIKE_CHECK(cudaEventRecord(_start_comm, main));
    NVTE_LIKE_CHECK(cudaStreamWaitEvent(_stream_compute, _start_comm, 0));
    NVTE_LIKE_CHECK(cudaStreamWaitEvent(_stream_send, _start_comm, 0));
    NVTE_LIKE_CHECK(cudaStreamWaitEvent(_stream_recv, _start_comm, 0));
  }

  void join(cudaStream_t main) {
    NVTE_LIKE_CHECK(cudaEventRecord(_stop_compute, _stream_compute));
    NVTE_LIKE_CHECK(cudaStreamWaitEvent(main, _stop_compute, 0));
    NVTE_LIKE_CHECK(cudaEventRecord(_stop_send, _stream_send));
    NVTE_LIKE_CHECK(cudaStreamWaitEvent(main, _stop_send, 0));
  }

  cudaStream_t _stream_compute, _stream_send, _stream_recv;
  cudaEvent_t _start_comm, _stop_compute, _stop_send, _stop_recv;
};

class P2PReduceScatter : public CommOverlapBase {
 public:
  /// inbox: staging area on this device that the peers have filled before the call.
  void run(const float *x, const float *inbox, float *outbox, float *chunks, float *local, float *out,
           int peers, size_t n, cudaStream_t stream_main) {
    fork(stream_main);

    scale_chunk_kernel<<<64, 256, 0, _stream_compute>>>(x, local, 1.0f / (peers + 1), n);
    NVTE_LIKE_CHECK(cudaGetLastError());
    for (int p = 0; p < peers; p++) {
      NVTE_LIKE_CHECK(cudaMemcpyAsync(outbox + p * n, x, n * sizeof(float),
                                      cudaMemcpyDeviceToDevice, _stream_send));
      NVTE_LIKE_CHECK(cudaMemcpyAsync(chunks + p * n, inbox + p * n, n * sizeof(float),
                                      cudaMemcpyDeviceToDevice, _stream_recv));
    }

    join(stream_main);
    reduce_chunks_kernel<<<64, 256, 0, stream_main>>>(chunks, local, out, peers, n);
    NVTE_LIKE_CHECK(cudaGetLastError());
  }
};
