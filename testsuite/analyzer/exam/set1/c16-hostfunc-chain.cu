// Asynchronous result delivery: a host function behind the copy hands the
// result to a queue and the queue's reader recycles the page-locked block.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

namespace delivery {

#define DELIVERY_OK(x) do { if ((x) != cudaSuccess) std::abort(); } while (0)

struct Result {
  int id;
  float* values;  // page-locked
  int count;
};

// Finished results; pop() waits.
class Mailbox {
 public:
  void push(const Result& r) {
    std::lock_guard<std::mutex> l(m_);
    ready_.push(r);
    cv_.notify_one();
  }
  Result pop() {
    std::unique_lock<std::mutex> l(m_);
    cv_.wait(l, [&] { return !ready_.empty(); });
    Result r = ready_.front();
    ready_.pop();
    return r;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::queue<Result> ready_;
};

struct Delivery {
  Mailbox* box;
  Result result;
};

void CUDART_CB deliver(void* p) {
  std::unique_ptr<Delivery> d(static_cast<Delivery*>(p));
  d->box->push(d->result);
}

__global__ void spectrum(const float* signal, float* power, int n, int bins) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= bins) return;
  float re = 0.f, im = 0.f;
  for (int i = 0; i < n; ++i) {
    float phase = static_cast<float>((static_cast<long long>(i) * k) % n) / n;
    re += signal[i] * (1.f - 2.f * phase);
    im += signal[i] * phase;
  }
  power[k] = re * re + im * im;
}

class Analyzer {
 public:
  Analyzer(int n, int bins, int blocks) : n_(n), bins_(bins) {
    DELIVERY_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DELIVERY_OK(cudaMalloc(&power_, bins * sizeof(float)));
    for (int i = 0; i < blocks; ++i) {
      float* p = nullptr;
      DELIVERY_OK(cudaMallocHost(&p, bins * sizeof(float)));
      idle_.push_back(p);
    }
  }

  // All results have been given back with recycle() by now.
  ~Analyzer() {
    DELIVERY_OK(cudaStreamSynchronize(stream_));
    for (float* p : idle_) cudaFreeHost(p);
    cudaFree(power_);
    cudaStreamDestroy(stream_);
  }
  Analyzer(const Analyzer&) = delete;

  // False if all blocks are out. `signal` is on the device and complete; it
  // stays unchanged until the result has been popped.
  bool submit(int id, const float* signal) {
    if (idle_.empty()) return false;
    float* block = idle_.back();
    idle_.pop_back();
    spectrum<<<(bins_ + 127) / 128, 128, 0, stream_>>>(signal, power_, n_, bins_);
    DELIVERY_OK(cudaGetLastError());
    DELIVERY_OK(cudaMemcpyAsync(block, power_, bins_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    DELIVERY_OK(cudaLaunchHostFunc(stream_, deliver, new Delivery{&box_, Result{id, block, bins_}}));
    return true;
  }

  Result next() { return box_.pop(); }
  void recycle(const Result& r) { idle_.push_back(r.values); }

 private:
  int n_, bins_;
  cudaStream_t stream_ = nullptr;
  float* power_ = nullptr;
  std::vector<float*> idle_;
  Mailbox box_;
};

float strongest(Analyzer& a, const std::vector<const float*>& signals) {
  float best = 0.f;
  size_t sent = 0, got = 0;
  while (got < signals.size()) {
    while (sent < signals.size() && a.submit(static_cast<int>(sent), signals[sent])) ++sent;
    if (sent == got) break;
    Result r = a.next();
    for (int i = 0; i < r.count; ++i) best = r.values[i] > best ? r.values[i] : best;
    a.recycle(r);
    ++got;
  }
  return best;
}

}  // namespace delivery
