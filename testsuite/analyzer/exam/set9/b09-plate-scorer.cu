// Scoring service of the licence plate reader. Requests are scored on the
// compute stream; answers travel back on the I/O stream and are delivered
// through futures.

#include <cuda_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace plates {

constexpr std::size_t kFeatures = 512;
constexpr std::size_t kGlyphs = 36;

inline void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void score_glyphs(const float* features, const float* weights, float* scores) {
  const int glyph = blockIdx.x;
  float acc = 0.f;
  for (std::size_t i = threadIdx.x; i < kFeatures; i += blockDim.x) acc += features[i] * weights[glyph * kFeatures + i];
  atomicAdd(&scores[glyph], acc);
}

class Scorer {
 public:
  using Scores = std::vector<float>;

  // `weights` is a finished device array of kGlyphs x kFeatures floats.
  Scorer(const float* weights, int slots) : weights_(weights), slots_(slots) {
    check(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      s.owner = this;
      check(cudaMallocHost(&s.request, kFeatures * sizeof(float)));
      check(cudaMallocHost(&s.answer, kGlyphs * sizeof(float)));
      check(cudaMalloc(&s.features, kFeatures * sizeof(float)));
      check(cudaMalloc(&s.scores, kGlyphs * sizeof(float)));
      check(cudaEventCreateWithFlags(&s.scored, cudaEventDisableTiming));
      idle_.push_back(&s);
    }
  }
  ~Scorer() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(io_);
    for (Slot& s : slots_) {
      cudaFreeHost(s.request);
      cudaFreeHost(s.answer);
      cudaFree(s.features);
      cudaFree(s.scores);
      cudaEventDestroy(s.scored);
    }
    cudaStreamDestroy(io_);
    cudaStreamDestroy(compute_);
  }
  Scorer(const Scorer&) = delete;
  Scorer& operator=(const Scorer&) = delete;

  std::future<Scores> submit(const std::vector<float>& features) {
    if (features.size() != kFeatures) throw std::invalid_argument("submit: wrong feature count");
    Slot* s = take_slot();
    s->promise = std::promise<Scores>();
    std::future<Scores> result = s->promise.get_future();
    std::copy(features.begin(), features.end(), s->request);
    std::lock_guard<std::mutex> lock(launch_);
    enqueue_scoring(*s);
    enqueue_answer(*s);
    enqueue_delivery(*s);
    return result;
  }

 private:
  struct Slot {
    Scorer* owner = nullptr;
    float* request = nullptr;
    float* answer = nullptr;
    float* features = nullptr;
    float* scores = nullptr;
    cudaEvent_t scored = nullptr;
    std::promise<Scores> promise;
  };

  Slot* take_slot() {
    std::unique_lock<std::mutex> lock(idle_mutex_);
    idle_cv_.wait(lock, [this] { return !idle_.empty(); });
    Slot* s = idle_.front();
    idle_.pop_front();
    return s;
  }

  void enqueue_scoring(Slot& s) {
    check(cudaMemcpyAsync(s.features, s.request, kFeatures * sizeof(float), cudaMemcpyHostToDevice, compute_));
    check(cudaMemsetAsync(s.scores, 0, kGlyphs * sizeof(float), compute_));
    score_glyphs<<<kGlyphs, 128, 0, compute_>>>(s.features, weights_, s.scores);
    check(cudaGetLastError());
    check(cudaEventRecord(s.scored, compute_));
  }

  void enqueue_answer(Slot& s) {
    check(cudaStreamWaitEvent(io_, s.scored, 0));
    check(cudaMemcpyAsync(s.answer, s.scores, kGlyphs * sizeof(float), cudaMemcpyDeviceToHost, io_));
  }

  void enqueue_delivery(Slot& s) { check(cudaLaunchHostFunc(compute_, &Scorer::deliver, &s)); }

  static void CUDART_CB deliver(void* arg) {
    Slot* s = static_cast<Slot*>(arg);
    std::promise<Scores> promise = std::move(s->promise);
    Scores scores(s->answer, s->answer + kGlyphs);
    s->owner->release(s);
    promise.set_value(std::move(scores));
  }

  void release(Slot* s) {
    std::lock_guard<std::mutex> lock(idle_mutex_);
    idle_.push_back(s);
    idle_cv_.notify_one();
  }

  const float* weights_;
  std::vector<Slot> slots_;
  std::deque<Slot*> idle_;
  std::mutex idle_mutex_;
  std::mutex launch_;
  std::condition_variable idle_cv_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t io_ = nullptr;
};

}  // namespace plates
