// Ensemble inference with one worker thread per estimator.  Modelled on PriorLabs/TabPFN#524.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CUDA_OK(x)                                                                       \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

__global__ void forward(const float* x, float* logits, int n, float temperature, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int l = 0; l < layers; ++l) v = v * 0.9997f + temperature;
  logits[i] = v;
}
__global__ void average(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * (a[i] + b[i]);
}
__global__ void iota(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = float(i % 128);
}

class EstimatorWorker {
 public:
  EstimatorWorker(int n, float temperature) : n_(n), temperature_(temperature) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(&logits_, n * sizeof(float)));
    thread_ = std::thread([this] { loop(); });
  }
  ~EstimatorWorker() {
    {
      std::lock_guard<std::mutex> lk(m_);
      stop_ = true;
    }
    cv_.notify_all();
    thread_.join();
    cudaStreamSynchronize(stream_);
    cudaFree(logits_);
    cudaStreamDestroy(stream_);
  }
  std::future<const float*> submit(const float* x) {
    Task t{x, {}};
    auto fut = t.result.get_future();
    {
      std::lock_guard<std::mutex> lk(m_);
      tasks_.push_back(std::move(t));
    }
    cv_.notify_one();
    return fut;
  }

 private:
  struct Task {
    const float* x;
    std::promise<const float*> result;
  };
  void loop() {
    for (;;) {
      Task task;
      {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return stop_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      forward<<<(n_ + 255) / 256, 256, 0, stream_>>>(task.x, logits_, n_, temperature_, 200000);
      CUDA_OK(cudaGetLastError());
#ifdef FIXED
      CUDA_OK(cudaStreamSynchronize(stream_));
#endif
      task.result.set_value(logits_);
    }
  }
  int n_;
  float temperature_;
  cudaStream_t stream_{};
  float* logits_{};
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

int main() {
  constexpr int n = 1 << 15;
  float *x, *mean, *host;
  cudaStream_t main_stream;
  CUDA_OK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CUDA_OK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_OK(cudaMalloc(&mean, n * sizeof(float)));
  CUDA_OK(cudaMallocHost(&host, n * sizeof(float)));
  iota<<<n / 256, 256, 0, main_stream>>>(x, n);
  CUDA_OK(cudaStreamSynchronize(main_stream));
  {
    EstimatorWorker a(n, 0.3f), b(n, 0.7f);
    for (int batch = 0; batch < 4; ++batch) {
      auto fa = a.submit(x), fb = b.submit(x);
      const float* la = fa.get();
      const float* lb = fb.get();
      average<<<n / 256, 256, 0, main_stream>>>(la, lb, mean, n);
      CUDA_OK(cudaMemcpyAsync(host, mean, n * sizeof(float), cudaMemcpyDeviceToHost, main_stream));
      CUDA_OK(cudaStreamSynchronize(main_stream));
      std::printf("batch %d p[7]=%f\n", batch, host[7]);
    }
  }
  CUDA_OK(cudaDeviceSynchronize());
  cudaFree(x), cudaFree(mean), cudaFreeHost(host), cudaStreamDestroy(main_stream);
  CUDA_OK(cudaGetLastError());
  return 0;
}
