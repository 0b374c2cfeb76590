// Disaggregated prefill: finished KV blocks are pushed to the decode node by a
// sender thread that owns the NIC queue pair.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

extern "C" {
struct rnic_qp;
int rnic_post_write(rnic_qp* qp, const void* local, uint32_t lkey, uint64_t remote, uint64_t bytes, uint64_t wr_id);
int rnic_wait_completion(rnic_qp* qp, uint64_t wr_id);
}

#define CHECK_CUDA(expr)                                                                   \
  if (cudaError_t err_ = (expr); err_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err_))

__global__ void projectKv(const float* hidden, const float* wkv, float* block, int dim, int tokens) {
  const int t = blockIdx.x;
  for (int d = threadIdx.x; d < dim && t < tokens; d += blockDim.x) {
    float acc = 0.f;
    for (int k = 0; k < dim; ++k) acc += hidden[t * dim + k] * wkv[k * dim + d];
    block[t * dim + d] = acc;
  }
}

struct PushRequest {
  int block;
  uint64_t remote;
  cudaEvent_t filled;
};

class KvPool {
 public:
  KvPool(int blocks, size_t floatsPerBlock) : stride_(floatsPerBlock) {
    CHECK_CUDA(cudaMalloc(&base_, blocks * floatsPerBlock * sizeof(float)));
    for (int i = blocks; i-- > 0;) free_.push_back(i);
  }
  ~KvPool() { cudaFree(base_); }
  int take() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return !free_.empty(); });
    int b = free_.back();
    free_.pop_back();
    return b;
  }
  void give(int b) {
    std::lock_guard<std::mutex> lk(m_);
    free_.push_back(b);
    cv_.notify_one();
  }
  float* addr(int b) const { return base_ + b * stride_; }
  size_t bytes() const { return stride_ * sizeof(float); }

 private:
  size_t stride_;
  float* base_ = nullptr;
  std::vector<int> free_;
  std::mutex m_;
  std::condition_variable cv_;
};

class Sender {
 public:
  Sender(KvPool& pool, rnic_qp* qp, uint32_t lkey) : pool_(pool), qp_(qp), lkey_(lkey) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&send_, cudaStreamNonBlocking));
    worker_ = std::thread(&Sender::loop, this);
  }
  ~Sender() {
    {
      std::lock_guard<std::mutex> lk(m_);
      stop_ = true;
    }
    cv_.notify_one();
    worker_.join();
    cudaStreamDestroy(send_);
  }
  void enqueue(PushRequest r) {
    std::lock_guard<std::mutex> lk(m_);
    queue_.push_back(r);
    cv_.notify_one();
  }

 private:
  void loop() {
    for (;;) {
      PushRequest r;
      {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        r = queue_.front();
        queue_.pop_front();
      }
      push(r);
    }
  }

  void push(const PushRequest& r) {
    CHECK_CUDA(cudaStreamWaitEvent(send_, r.filled, 0));
    if (rnic_post_write(qp_, pool_.addr(r.block), lkey_, r.remote, pool_.bytes(), ++wr_) != 0)
      throw std::runtime_error("post_write");
    rnic_wait_completion(qp_, wr_);
    CHECK_CUDA(cudaEventDestroy(r.filled));
    pool_.give(r.block);
  }

  KvPool& pool_;
  rnic_qp* qp_;
  uint32_t lkey_;
  uint64_t wr_ = 0;
  cudaStream_t send_ = nullptr;
  std::deque<PushRequest> queue_;
  std::mutex m_;
  std::condition_variable cv_;
  bool stop_ = false;
  std::thread worker_;
};

void prefillLayer(KvPool& pool, Sender& tx, const float* hidden, const float* wkv, int dim, int tokens,
                  uint64_t remote, cudaStream_t compute) {
  PushRequest req{pool.take(), remote, nullptr};
  projectKv<<<tokens, 128, 0, compute>>>(hidden, wkv, pool.addr(req.block), dim, tokens);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaEventCreateWithFlags(&req.filled, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventRecord(req.filled, compute));
  tx.enqueue(req);
}
