// Row-parallel linear layer over the GPUs of one node. Every shard multiplies
// its slice, exposes the partial result in an outbox and pulls the others'.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CU_OK(expr)                                                                  \
  do {                                                                               \
    cudaError_t e_ = (expr);                                                         \
    if (e_ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

__global__ void reducePartials(float* y, const float* own, const float* inbox, int peers, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    float acc = own[i];
    for (int p = 0; p < peers; ++p) acc += inbox[p * n + i];
    y[i] = acc;
  }
}

class Shard {
 public:
  Shard(int device, int peers, int m, int k, int n) : dev_(device), peers_(peers), m_(m), k_(k), n_(n) {
    CU_OK(cudaSetDevice(dev_));
    for (cudaStream_t* s : {&main_, &compute_, &send_, &recv_}) CU_OK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaEvent_t* e : {&start_, &stopCompute_, &stopSend_, &stopRecv_})
      CU_OK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    const size_t out = size_t(m_) * n_;
    CU_OK(cudaMalloc(&x_, size_t(m_) * k_ * sizeof(float)));
    CU_OK(cudaMalloc(&w_, size_t(k_) * n_ * sizeof(float)));
    CU_OK(cudaMalloc(&y_, out * sizeof(float)));
    CU_OK(cudaMalloc(&partial_, out * sizeof(float)));
    CU_OK(cudaMalloc(&outbox_, out * sizeof(float)));
    CU_OK(cudaMalloc(&inbox_, out * peers_ * sizeof(float)));
    CU_OK(cudaMemsetAsync(x_, 0, size_t(m_) * k_ * sizeof(float), main_));
    CU_OK(cudaMemsetAsync(w_, 0, size_t(k_) * n_ * sizeof(float), main_));
    cublasCreate(&blas_);
    cublasSetStream(blas_, compute_);
  }
  ~Shard() {
    cudaSetDevice(dev_);
    cudaDeviceSynchronize();
    cublasDestroy(blas_);
    for (float* p : {x_, w_, y_, partial_, outbox_, inbox_}) cudaFree(p);
    for (cudaEvent_t e : {start_, stopCompute_, stopSend_, stopRecv_}) cudaEventDestroy(e);
    for (cudaStream_t s : {main_, compute_, send_, recv_}) cudaStreamDestroy(s);
  }

  void multiply() {
    CU_OK(cudaSetDevice(dev_));
    CU_OK(cudaEventRecord(start_, main_));
    for (cudaStream_t s : {compute_, send_, recv_}) CU_OK(cudaStreamWaitEvent(s, start_, 0));
    const float one = 1.f, zero = 0.f;
    cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n_, m_, k_, &one, w_, n_, x_, k_, &zero, partial_, n_);
    CU_OK(cudaEventRecord(stopCompute_, compute_));
    CU_OK(cudaStreamWaitEvent(send_, stopCompute_, 0));
    CU_OK(cudaMemcpyAsync(outbox_, partial_, bytes(), cudaMemcpyDeviceToDevice, send_));
    CU_OK(cudaEventRecord(stopSend_, send_));
  }

  void pull(const Shard& from, int slot) {
    CU_OK(cudaSetDevice(dev_));
    CU_OK(cudaStreamWaitEvent(recv_, from.stopSend_, 0));
    CU_OK(cudaMemcpyPeerAsync(inbox_ + size_t(slot) * m_ * n_, dev_, from.outbox_, from.dev_, bytes(), recv_));
  }

  void join() {
    CU_OK(cudaSetDevice(dev_));
    CU_OK(cudaStreamWaitEvent(main_, stopCompute_, 0));
    CU_OK(cudaStreamWaitEvent(main_, stopSend_, 0));
  }

  void reduce() {
    CU_OK(cudaSetDevice(dev_));
    reducePartials<<<264, 256, 0, main_>>>(y_, partial_, inbox_, peers_, size_t(m_) * n_);
    CU_OK(cudaGetLastError());
  }

  void wait() const { CU_OK(cudaStreamSynchronize(main_)); }

 private:
  size_t bytes() const { return size_t(m_) * n_ * sizeof(float); }

  int dev_, peers_, m_, k_, n_;
  cublasHandle_t blas_{};
  cudaStream_t main_{}, compute_{}, send_{}, recv_{};
  cudaEvent_t start_{}, stopCompute_{}, stopSend_{}, stopRecv_{};
  float *x_{}, *w_{}, *y_{}, *partial_{}, *outbox_{}, *inbox_{};
};

static void step(std::vector<std::unique_ptr<Shard>>& shards) {
  const int count = int(shards.size());
  for (auto& s : shards) s->multiply();
  for (int r = 0; r < count; ++r) {
    for (int hop = 1; hop < count; ++hop) shards[r]->pull(*shards[(r + hop) % count], hop - 1);
    shards[r]->join();
    shards[r]->reduce();
  }
  for (auto& s : shards) s->wait();
}

int main() {
  int count = 0;
  CU_OK(cudaGetDeviceCount(&count));
  std::vector<std::unique_ptr<Shard>> shards;
  for (int d = 0; d < count; ++d) shards.push_back(std::make_unique<Shard>(d, count - 1, 512, 4096, 4096));
  for (int it = 0; it < 32; ++it) step(shards);
  return 0;
}
