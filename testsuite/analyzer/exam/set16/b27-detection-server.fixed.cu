// Batch lane of a video analytics server. Requests arrive with a responder that sends the scores on.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define SRV_CHECK(e)                                                                          \
  do {                                                                                        \
    const cudaError_t rc_ = (e);                                                              \
    if (rc_ != cudaSuccess) {                                                                 \
      std::fprintf(stderr, "[gpu] %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));  \
      std::abort();                                                                           \
    }                                                                                         \
  } while (0)

namespace server {

constexpr int kFeatures = 512;
constexpr int kClasses = 80;
constexpr int kMaxBatch = 64;

using Responder = std::function<void(const float* scores, int rows)>;

struct Request {
  std::vector<float> features;  // rows * kFeatures
  int rows = 0;
  Responder respond;
};

__global__ void classify(const float* x, const float* w, float* scores, int rows) {
  int row = blockIdx.x, cls = threadIdx.x;
  if (row >= rows || cls >= kClasses) return;
  float acc = 0.f;
  for (int k = 0; k < kFeatures; ++k) acc += x[row * kFeatures + k] * w[k * kClasses + cls];
  scores[row * kClasses + cls] = 1.f / (1.f + __expf(-acc));
}

class RequestQueue {
 public:
  void push(Request r) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      items_.push_back(std::move(r));
    }
    ready_.notify_one();
  }
  void close() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }
  bool pop(Request& out) {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return false;
    out = std::move(items_.front());
    items_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Request> items_;
  bool closed_ = false;
};

class Lane {
 public:
  explicit Lane(RequestQueue& queue) : queue_(queue) {
    SRV_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SRV_CHECK(cudaMallocHost(&hostIn_, kMaxBatch * kFeatures * sizeof(float)));
    SRV_CHECK(cudaMallocHost(&hostOut_, kMaxBatch * kClasses * sizeof(float)));
    SRV_CHECK(cudaMalloc(&x_, kMaxBatch * kFeatures * sizeof(float)));
    SRV_CHECK(cudaMalloc(&w_, kFeatures * kClasses * sizeof(float)));
    SRV_CHECK(cudaMalloc(&scores_, kMaxBatch * kClasses * sizeof(float)));
    SRV_CHECK(cudaMemsetAsync(w_, 0, kFeatures * kClasses * sizeof(float), stream_));
    worker_ = std::thread([this] { serve(); });
  }
  ~Lane() {
    worker_.join();
    cudaStreamSynchronize(stream_);
    cudaFree(scores_);
    cudaFree(w_);
    cudaFree(x_);
    cudaFreeHost(hostOut_);
    cudaFreeHost(hostIn_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

 private:
  void serve() {
    Request request;
    while (queue_.pop(request)) {
      stageInputs(request);
      infer(request);
      fetchOutputs(request);
      SRV_CHECK(cudaStreamSynchronize(stream_));
      request.respond(hostOut_, request.rows);
    }
  }

  void stageInputs(const Request& request) {
    std::memcpy(hostIn_, request.features.data(), request.features.size() * sizeof(float));
    SRV_CHECK(cudaMemcpyAsync(x_, hostIn_, request.features.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
  }

  void infer(const Request& request) {
    classify<<<request.rows, 96, 0, stream_>>>(x_, w_, scores_, request.rows);
    SRV_CHECK(cudaGetLastError());
  }

  void fetchOutputs(const Request& request) {
    const size_t bytes = size_t(request.rows) * kClasses * sizeof(float);
    SRV_CHECK(cudaMemcpyAsync(hostOut_, scores_, bytes, cudaMemcpyDeviceToHost, stream_));
  }

  RequestQueue& queue_;
  cudaStream_t stream_{};
  float *hostIn_ = nullptr, *hostOut_ = nullptr;
  float *x_ = nullptr, *w_ = nullptr, *scores_ = nullptr;
  std::thread worker_;
};

}  // namespace server

int main() {
  using namespace server;
  RequestQueue queue;
  std::mutex printMutex;
  {
    Lane lane(queue);
    for (int camera = 0; camera < 6; ++camera) {
      Request r;
      r.rows = 8;
      r.features.assign(size_t(r.rows) * kFeatures, 0.01f * camera);
      r.respond = [camera, &printMutex](const float* scores, int rows) {
        float best = 0.f;
        for (int i = 0; i < rows * kClasses; ++i) best = scores[i] > best ? scores[i] : best;
        std::lock_guard<std::mutex> lock(printMutex);
        std::printf("camera %d: best score %.3f\n", camera, best);
      };
      queue.push(std::move(r));
    }
    queue.close();
  }
  return 0;
}
