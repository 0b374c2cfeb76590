// Batch scoring of card transactions with an oblique decision forest. A batch joins
// several client requests; every client gets a view of its part of the scores.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fraud {

inline void must(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void scoreForest(const float* rows, const float* planes, float* scores, int rowCount,
                            int features, int trees) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rowCount) return;
  float votes = 0.f;
  for (int t = 0; t < trees; ++t) {
    float side = 0.f;
    for (int f = 0; f < features; ++f) side += rows[r * features + f] * planes[t * features + f];
    votes += side > 0.f ? 1.f : 0.f;
  }
  scores[r] = votes / trees;
}

struct Scores {
  const float* first;
  const float* last;
};

using Reply = std::function<void(const Scores&)>;

struct Request {
  std::vector<float> rows;
  Reply reply;
};

// Alarm threshold per merchant; used as a reply by the back office.
class AlarmCounter {
 public:
  explicit AlarmCounter(float threshold) : threshold_(threshold) {}

  void operator()(const Scores& scores) {
    const auto hits = std::count_if(scores.first, scores.last, [t = threshold_](float s) { return s > t; });
    const std::lock_guard<std::mutex> lock(mutex_);
    alarms_ += hits;
  }

  std::ptrdiff_t alarms() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return alarms_;
  }

 private:
  float threshold_;
  mutable std::mutex mutex_;
  std::ptrdiff_t alarms_ = 0;
};

class ScoringModel {
 public:
  ScoringModel(const std::vector<float>& planes, int features, int maxRows)
      : features_(features), trees_(static_cast<int>(planes.size()) / features), maxRows_(maxRows) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(cudaMalloc(&planes_, planes.size() * sizeof(float)));
    must(cudaMalloc(&rows_, sizeof(float) * maxRows * features));
    must(cudaMalloc(&scores_, sizeof(float) * maxRows));
    must(cudaMallocHost(&hostRows_, sizeof(float) * maxRows * features));
    must(cudaMallocHost(&hostScores_, sizeof(float) * maxRows));
    must(cudaMemcpyAsync(planes_, planes.data(), planes.size() * sizeof(float), cudaMemcpyHostToDevice,
                         stream_));
    must(cudaStreamSynchronize(stream_));
  }
  ~ScoringModel() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(hostScores_);
    cudaFreeHost(hostRows_);
    cudaFree(scores_);
    cudaFree(rows_);
    cudaFree(planes_);
    cudaStreamDestroy(stream_);
  }
  ScoringModel(const ScoringModel&) = delete;
  ScoringModel& operator=(const ScoringModel&) = delete;

  // Replies are called before this returns.
  void execute(std::vector<Request>& batch) {
    const int rows = gather(batch);
    score(rows);
    must(cudaStreamSynchronize(stream_));
    answer(batch);
  }

 private:
  int gather(const std::vector<Request>& batch) {
    std::size_t used = 0;
    for (const Request& r : batch) {
      if (used + r.rows.size() > std::size_t(maxRows_) * features_) throw std::length_error("batch");
      std::copy(r.rows.begin(), r.rows.end(), hostRows_ + used);
      used += r.rows.size();
    }
    must(cudaMemcpyAsync(rows_, hostRows_, used * sizeof(float), cudaMemcpyHostToDevice, stream_));
    return static_cast<int>(used / features_);
  }

  void score(int rows) {
    scoreForest<<<(rows + 127) / 128, 128, 0, stream_>>>(rows_, planes_, scores_, rows, features_, trees_);
    must(cudaGetLastError());
    must(cudaMemcpyAsync(hostScores_, scores_, rows * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }

  void answer(std::vector<Request>& batch) {
    const float* first = hostScores_;
    for (Request& r : batch) {
      const float* last = first + r.rows.size() / features_;
      r.reply(Scores{first, last});
      first = last;
    }
  }

  int features_;
  int trees_;
  int maxRows_;
  cudaStream_t stream_ = nullptr;
  float* planes_ = nullptr;
  float* rows_ = nullptr;
  float* scores_ = nullptr;
  float* hostRows_ = nullptr;
  float* hostScores_ = nullptr;
};

std::ptrdiff_t countAlarms(ScoringModel& model, std::vector<std::vector<float>> merchants, float threshold) {
  AlarmCounter counter(threshold);
  std::vector<Request> batch;
  for (auto& rows : merchants) batch.push_back(Request{std::move(rows), std::ref(counter)});
  model.execute(batch);
  return counter.alarms();
}

}  // namespace fraud
