// Radio telescope correlator: integrations are written to disk by a recorder thread.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace corr {

void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Record {
  float* vis = nullptr;  // page-locked
  size_t count = 0;
  cudaEvent_t landed = nullptr;
  int integration = 0;
};

template <class T>
class Channel {
 public:
  void send(T v) {
    {
      std::lock_guard<std::mutex> l(m_);
      q_.push_back(std::move(v));
    }
    cv_.notify_one();
  }
  void close() {
    {
      std::lock_guard<std::mutex> l(m_);
      closed_ = true;
    }
    cv_.notify_all();
  }
  std::optional<T> receive() {
    std::unique_lock<std::mutex> l(m_);
    cv_.wait(l, [&] { return closed_ || !q_.empty(); });
    if (q_.empty()) return std::nullopt;
    T v = std::move(q_.front());
    q_.pop_front();
    return v;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<T> q_;
  bool closed_ = false;
};

__global__ void correlate(const float2* a, float* vis, int n, int t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) vis[i] = a[i].x * a[(i + t) % n].x + a[i].y * a[(i + t) % n].y;
}

class Recorder {
 public:
  Recorder(Channel<Record*>& full, Channel<Record*>& empty, const char* path)
      : full_(full), empty_(empty), file_(std::fopen(path, "wb")), worker_([this] { loop(); }) {}
  ~Recorder() {
    worker_.join();
    if (file_) std::fclose(file_);
  }

 private:
  void loop() {
    while (auto r = full_.receive()) {
      Record* rec = *r;
      cu(cudaEventSynchronize(rec->landed));
      if (file_) std::fwrite(rec->vis, sizeof(float), rec->count, file_);
      empty_.send(rec);
    }
  }
  Channel<Record*>& full_;
  Channel<Record*>& empty_;
  std::FILE* file_;
  std::thread worker_;
};

class Correlator {
 public:
  explicit Correlator(int n) : n_(n) {
    cu(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    cu(cudaMalloc(&antenna_, n_ * sizeof(float2)));
    cu(cudaMalloc(&vis_, n_ * sizeof(float)));
    cu(cudaMemsetAsync(antenna_, 0, n_ * sizeof(float2), s_));
  }
  ~Correlator() {
    cudaStreamSynchronize(s_);
    cudaFree(antenna_);
    cudaFree(vis_);
    cudaStreamDestroy(s_);
  }
  void integrate(int t, Record* into) {
    correlate<<<(n_ + 255) / 256, 256, 0, s_>>>(antenna_, vis_, n_, t);
    cu(cudaGetLastError());
    cu(cudaMemcpyAsync(into->vis, vis_, n_ * sizeof(float), cudaMemcpyDeviceToHost, s_));
    cu(cudaEventRecord(into->landed, s_));
    into->count = n_;
    into->integration = t;
  }

 private:
  int n_;
  cudaStream_t s_{};
  float2* antenna_{};
  float* vis_{};
};

}  // namespace corr

int main(int argc, char** argv) {
  using namespace corr;
  const int n = 1 << 20;
  std::vector<std::unique_ptr<Record>> records;
  Channel<Record*> full, empty;
  for (int i = 0; i < 3; ++i) {
    auto r = std::make_unique<Record>();
    cu(cudaMallocHost(&r->vis, n * sizeof(float)));
    cu(cudaEventCreateWithFlags(&r->landed, cudaEventDisableTiming | cudaEventBlockingSync));
    empty.send(r.get());
    records.push_back(std::move(r));
  }
  {
    Recorder recorder(full, empty, argc > 1 ? argv[1] : "/dev/null");
    Correlator c(n);
    for (int t = 0; t < 200; ++t) {
      Record* r = *empty.receive();
      c.integrate(t, r);
      full.send(r);
    }
    full.close();
  }
  for (auto& r : records) {
    cudaEventDestroy(r->landed);
    cudaFreeHost(r->vis);
  }
}
