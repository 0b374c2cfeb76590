#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NVTE_CHECK_CUDA(expr)                                                              \
  do {                                                                                     \
    const cudaError_t status_NVTE_CHECK_CUDA = (expr);                                     \
    if (status_NVTE_CHECK_CUDA != cudaSuccess)                                             \
      throw std::runtime_error(std::string("CUDA Error: ") +                               \
                               cudaGetErrorString(status_NVTE_CHECK_CUDA));                \
  } while (false)

namespace te {
namespace {

__global__ void chunk_gemm_kernel(const float *a, const float *b, float *d, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float acc = 0.f;
  for (int i = 0; i < k; ++i) acc += a[row * k + i] * b[i * n + col];
  d[row * n + col] = acc;
}

__global__ void reduce_bf_kernel(const float *chunk0, const float *chunk1, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = chunk0[i] + chunk1[i];
}

}  // namespace

struct TensorView {
  float *dptr;
  int rows, cols;
  size_t bytes() const { return sizeof(float) * rows * cols; }
};

class CommOverlapBase {
 public:
  CommOverlapBase() {
    NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(&_stream_compute, cudaStreamNonBlocking));
    NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(&_stream_send, cudaStreamNonBlocking));
    NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(&_stream_recv, cudaStreamNonBlocking));
    for (cudaEvent_t *ev : {&_start, &_stop_compute, &_stop_send, &_stop_recv})
      NVTE_CHECK_CUDA(cudaEventCreateWithFlags(ev, cudaEventDisableTiming));
  }
  virtual ~CommOverlapBase() {
    for (cudaEvent_t ev : {_start, _stop_compute, _stop_send, _stop_recv}) cudaEventDestroy(ev);
    for (cudaStream_t s : {_stream_compute, _stream_send, _stream_recv}) cudaStreamDestroy(s);
  }
  virtual void split_overlap_rs(const TensorView &a, const TensorView &b, const TensorView &out,
                                cudaStream_t stream_main) = 0;

 protected:
  void fork(cudaStream_t stream_main) {
    NVTE_CHECK_CUDA(cudaEventRecord(_start, stream_main));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(_stream_compute, _start, 0));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(_stream_send, _start, 0));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(_stream_recv, _start, 0));
  }
  void join(cudaStream_t stream_main) {
    NVTE_CHECK_CUDA(cudaEventRecord(_stop_compute, _stream_compute));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(stream_main, _stop_compute, 0));
    NVTE_CHECK_CUDA(cudaEventRecord(_stop_send, _stream_send));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(stream_main, _stop_send, 0));
  }

  cudaStream_t _stream_compute, _stream_send, _stream_recv;
  cudaEvent_t _start, _stop_compute, _stop_send, _stop_recv;
};

// Exchanges partial results with one neighbour through a pair of mapped mailboxes.
class CommOverlapP2P : public CommOverlapBase {
 public:
  CommOverlapP2P(TensorView ubuf_local, TensorView ubuf_recv, TensorView mailbox_out, TensorView mailbox_in)
      : _local(ubuf_local), _recv(ubuf_recv), _mailbox_out(mailbox_out), _mailbox_in(mailbox_in) {}

  void split_overlap_rs(const TensorView &a, const TensorView &b, const TensorView &out,
                        cudaStream_t stream_main) override {
    fork(stream_main);
    userbuffers_recv();
    const dim3 block(16, 16), grid((out.cols + 15) / 16, (out.rows + 15) / 16);
    chunk_gemm_kernel<<<grid, block, 0, _stream_compute>>>(a.dptr, b.dptr, _local.dptr, a.rows, b.cols, a.cols);
    NVTE_CHECK_CUDA(cudaGetLastError());
    userbuffers_send(a);
    join(stream_main);
    const int n = out.rows * out.cols;
    reduce_bf_kernel<<<(n + 255) / 256, 256, 0, stream_main>>>(_local.dptr, _recv.dptr, out.dptr, n);
    NVTE_CHECK_CUDA(cudaGetLastError());
  }

 private:
  void userbuffers_recv() {
    NVTE_CHECK_CUDA(cudaMemcpyAsync(_recv.dptr, _mailbox_in.dptr, _recv.bytes(), cudaMemcpyDeviceToDevice, _stream_recv));
  }
  void userbuffers_send(const TensorView &src) {
    NVTE_CHECK_CUDA(cudaMemcpyAsync(_mailbox_out.dptr, src.dptr, src.bytes(), cudaMemcpyDeviceToDevice, _stream_send));
  }
  TensorView _local, _recv, _mailbox_out, _mailbox_in;
};

}  // namespace te

int main() {
  using te::TensorView;
  const int n = 1024;
  std::vector<TensorView> t(7, TensorView{nullptr, n, n});
  cudaStream_t main_stream;
  NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  for (auto &v : t) {
    NVTE_CHECK_CUDA(cudaMalloc(&v.dptr, v.bytes()));
    NVTE_CHECK_CUDA(cudaMemsetAsync(v.dptr, 0, v.bytes(), main_stream));
  }
  {
    std::unique_ptr<te::CommOverlapBase> ub(new te::CommOverlapP2P(t[0], t[1], t[2], t[3]));
    ub->split_overlap_rs(t[4], t[5], t[6], main_stream);
    NVTE_CHECK_CUDA(cudaStreamSynchronize(main_stream));
  }
  for (auto &v : t) NVTE_CHECK_CUDA(cudaFree(v.dptr));
  NVTE_CHECK_CUDA(cudaStreamDestroy(main_stream));
  return 0;
}
