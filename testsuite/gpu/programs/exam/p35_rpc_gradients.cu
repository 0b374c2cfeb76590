// Distributed autograd in one process: a transport thread delivers gradients, an engine thread applies them.
// Built with per-thread default streams.  Modelled on pytorch/pytorch#54358.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kNumel = 1 << 15, kMessages = 6;

struct Message {
  float* grad = nullptr;
  cudaEvent_t ready = nullptr;
};

template <class T>
class Channel {
 public:
  void send(T v) {
    {
      std::lock_guard<std::mutex> lk(m_);
      q_.push_back(std::move(v));
    }
    cv_.notify_one();
  }
  T receive() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return !q_.empty(); });
    T v = std::move(q_.front());
    q_.pop_front();
    return v;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<T> q_;
};

__global__ void decompress(float* grad, int n, int seq, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(seq + 1);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  grad[i] = v;
}
__global__ void accumulate(float* param_grad, const float* grad, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) param_grad[i] += grad[i];
}

class TensorPipeAgent {
 public:
  TensorPipeAgent() {
    for (auto& m : slots_) {
      CK(cudaMalloc(&m.grad, kNumel * sizeof(float)));
      CK(cudaEventCreateWithFlags(&m.ready, cudaEventDisableTiming));
    }
  }
  ~TensorPipeAgent() {
    for (auto& m : slots_) cudaFree(m.grad), cudaEventDestroy(m.ready);
  }
  void serve(Channel<Message>& out) {
    for (int seq = 0; seq < kMessages; ++seq) {
      Message& m = slots_[seq];
      decompress<<<kNumel / 256, 256>>>(m.grad, kNumel, seq, 200000);
      CK(cudaGetLastError());
#ifdef FIXED
      CK(cudaEventRecord(m.ready));
#endif
      out.send(m);
    }
    CK(cudaStreamSynchronize(0));
  }

 private:
  std::vector<Message> slots_ = std::vector<Message>(kMessages);
};

class DistEngine {
 public:
  DistEngine() {
    CK(cudaMalloc(&param_grad_, kNumel * sizeof(float)));
    CK(cudaMemsetAsync(param_grad_, 0, kNumel * sizeof(float)));
    CK(cudaDeviceSynchronize());
  }
  ~DistEngine() { cudaFree(param_grad_); }
  void run(Channel<Message>& in) {
    for (int k = 0; k < kMessages; ++k) {
      Message m = in.receive();
#ifdef FIXED
      CK(cudaStreamWaitEvent(cudaStreamPerThread, m.ready, 0));
#endif
      accumulate<<<kNumel / 256, 256>>>(param_grad_, m.grad, kNumel);
      CK(cudaGetLastError());
    }
    CK(cudaStreamSynchronize(0));
  }
  float peek() const {
    float h;
    CK(cudaMemcpy(&h, param_grad_, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  float* param_grad_{};
};

int main() {
  TensorPipeAgent agent;
  DistEngine engine;
  Channel<Message> channel;
  std::thread rpc([&] { agent.serve(channel); });
  std::thread autograd([&] { engine.run(channel); });
  rpc.join();
  autograd.join();
  std::printf("grad[0] = %f\n", engine.peek());
  CK(cudaDeviceSynchronize());
  return 0;
}
