// Grasp scoring service of a manipulator. Requests use pinned slots; a host
// function hands the finished slot over to the waiting client.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define MUST(x)                                                             \
  do {                                                                      \
    const cudaError_t must_ = (x);                                          \
    if (must_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(must_));      \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

namespace grasp {

constexpr int kCandidates = 2048;

__global__ void score_candidates(const float4* poses, float* scores) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCandidates) {
    const float4 p = poses[i];
    scores[i] = p.w / (1.f + p.x * p.x + p.y * p.y + p.z * p.z);
  }
}

struct Slot {
  Slot() {
    MUST(cudaMallocHost(reinterpret_cast<void**>(&host_poses), sizeof(float4) * kCandidates));
    MUST(cudaMallocHost(reinterpret_cast<void**>(&host_scores), sizeof(float) * kCandidates));
    MUST(cudaMalloc(reinterpret_cast<void**>(&poses), sizeof(float4) * kCandidates));
    MUST(cudaMalloc(reinterpret_cast<void**>(&scores), sizeof(float) * kCandidates));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Slot() {
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaFreeHost(host_poses));
    MUST(cudaFreeHost(host_scores));
    MUST(cudaFree(poses));
    MUST(cudaFree(scores));
    MUST(cudaStreamDestroy(stream));
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  float4* host_poses = nullptr;
  float* host_scores = nullptr;
  float4* poses = nullptr;
  float* scores = nullptr;
  cudaStream_t stream = nullptr;
};

class Service {
 public:
  explicit Service(int slots) {
    for (int i = 0; i < slots; ++i) {
      slots_.push_back(std::make_unique<Slot>());
      free_.push_back(slots_.back().get());
    }
  }
  ~Service() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return free_.size() == slots_.size(); });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Scores the poses made by `fill`; `done` runs on a thread of the driver.
  void submit(const std::function<float4(int)>& fill, std::function<void(const float*)> done) {
    Slot* slot = take();
    for (int i = 0; i < kCandidates; ++i) slot->host_poses[i] = fill(i);
    MUST(cudaMemcpyAsync(slot->poses, slot->host_poses, sizeof(float4) * kCandidates, cudaMemcpyHostToDevice,
                         slot->stream));
    score_candidates<<<(kCandidates + 127) / 128, 128, 0, slot->stream>>>(slot->poses, slot->scores);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(slot->host_scores, slot->scores, sizeof(float) * kCandidates, cudaMemcpyDeviceToHost,
                         slot->stream));
    auto ticket = std::make_unique<Ticket>(Ticket{this, slot, std::move(done)});
    MUST(cudaLaunchHostFunc(slot->stream, &Service::finished, ticket.release()));
  }

 private:
  struct Ticket {
    Service* service;
    Slot* slot;
    std::function<void(const float*)> done;
  };

  static void CUDART_CB finished(void* data) {
    const std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(data));
    ticket->done(ticket->slot->host_scores);
    ticket->service->give_back(ticket->slot);
  }

  Slot* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !free_.empty(); });
    Slot* slot = free_.front();
    free_.pop_front();
    return slot;
  }

  void give_back(Slot* slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(slot);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> free_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace grasp

int main() {
  std::vector<float> best(64, 0.f);
  {
    grasp::Service service(3);
    auto client = [&](int first) {
      for (int r = first; r < first + 32; ++r) {
        service.submit([r](int i) { return make_float4(0.01f * i, 0.02f * r, 0.f, 1.f); },
                       [&best, r](const float* scores) {
                         for (int i = 0; i < grasp::kCandidates; ++i) best[r] = scores[i] > best[r] ? scores[i] : best[r];
                       });
      }
    };
    std::thread left(client, 0);
    std::thread right(client, 32);
    left.join();
    right.join();
  }
  std::printf("best of request 0: %f\n", best[0]);
  return 0;
}
