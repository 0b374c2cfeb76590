// Results are announced by host functions which signal a condition variable; a writer thread consumes them.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kN = 1 << 14, kSlots = 2, kBatches = 8;

__global__ void produce(float* out, int n, int batch, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(batch);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.99999f, 1e-5f);
  out[i] = v;
}

class Mailbox {
 public:
  void arrived() {
    std::lock_guard<std::mutex> lk(m_);
    ++arrived_;
    cv_.notify_all();
  }
  void consumed() {
    std::lock_guard<std::mutex> lk(m_);
    ++consumed_;
    cv_.notify_all();
  }
  void wait_arrived(int n) {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [&] { return arrived_ >= n; });
  }
  void wait_consumed(int n) {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [&] { return consumed_ >= n; });
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  int arrived_ = 0, consumed_ = 0;
};

static void CUDART_CB on_batch(void* p) { static_cast<Mailbox*>(p)->arrived(); }

int main() {
  cudaStream_t stream;
  CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float *dev, *host[kSlots];
  CK(cudaMalloc(&dev, kN * sizeof(float)));
  for (auto& h : host) CK(cudaMallocHost(&h, kN * sizeof(float)));
  Mailbox box;
  double sum = 0;
  std::thread writer([&] {
    for (int b = 0; b < kBatches; ++b) {
      box.wait_arrived(b + 1);
      for (int i = 0; i < kN; ++i) sum += host[b % kSlots][i];
      box.consumed();
    }
  });
  for (int b = 0; b < kBatches; ++b) {
    if (b >= kSlots) box.wait_consumed(b - kSlots + 1);
    produce<<<kN / 128, 128, 0, stream>>>(dev, kN, b, 200000);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(host[b % kSlots], dev, kN * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CK(cudaLaunchHostFunc(stream, on_batch, &box));
  }
  writer.join();
  std::printf("sum %f\n", sum);
  CK(cudaStreamSynchronize(stream));
  for (auto h : host) CK(cudaFreeHost(h));
  CK(cudaFree(dev));
  CK(cudaStreamDestroy(stream));
  return 0;
}
