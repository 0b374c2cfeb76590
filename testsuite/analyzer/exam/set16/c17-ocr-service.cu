// OCR scoring service: jobs from several threads, results handed on by a callback of the stream.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define OCR_CHECK(e)                                                                 \
  do {                                                                               \
    cudaError_t rc = (e);                                                            \
    if (rc != cudaSuccess) {                                                         \
      std::fprintf(stderr, "ocr %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

namespace ocr {

constexpr int kGlyph = 64 * 64;
constexpr int kAlphabet = 96;
constexpr int kDepth = 3;

using Completion = std::function<void(const float* scores)>;

__global__ void score(const float* glyph, float* scores) {
  int letter = threadIdx.x;
  if (letter >= kAlphabet) return;
  float acc = 0.f;
  for (int i = letter; i < kGlyph; i += kAlphabet) acc += glyph[i];
  scores[letter] = acc;
}

class Scorer {
 public:
  Scorer() {
    OCR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (auto& s : slots_) {
      OCR_CHECK(cudaMallocHost(&s.glyph, kGlyph * sizeof(float)));
      OCR_CHECK(cudaMallocHost(&s.scores, kAlphabet * sizeof(float)));
      OCR_CHECK(cudaMalloc(&s.deviceGlyph, kGlyph * sizeof(float)));
      OCR_CHECK(cudaMalloc(&s.deviceScores, kAlphabet * sizeof(float)));
      OCR_CHECK(cudaEventCreateWithFlags(&s.idle, cudaEventDisableTiming));
    }
  }
  Scorer(const Scorer&) = delete;
  Scorer& operator=(const Scorer&) = delete;
  ~Scorer() {
    cudaStreamSynchronize(stream_);
    for (auto& s : slots_) {
      cudaEventDestroy(s.idle);
      cudaFree(s.deviceScores);
      cudaFree(s.deviceGlyph);
      cudaFreeHost(s.scores);
      cudaFreeHost(s.glyph);
    }
    cudaStreamDestroy(stream_);
  }

  // `done` is called on a thread of the driver; it must not use CUDA.
  void submit(const std::vector<float>& glyph, Completion done) {
    std::lock_guard<std::mutex> lock(mutex_);
    Slot& s = slots_[next_++ % kDepth];
    OCR_CHECK(cudaEventSynchronize(s.idle));
    std::memcpy(s.glyph, glyph.data(), kGlyph * sizeof(float));
    OCR_CHECK(cudaMemcpyAsync(s.deviceGlyph, s.glyph, kGlyph * sizeof(float), cudaMemcpyHostToDevice, stream_));
    score<<<1, 128, 0, stream_>>>(s.deviceGlyph, s.deviceScores);
    OCR_CHECK(cudaGetLastError());
    OCR_CHECK(cudaMemcpyAsync(s.scores, s.deviceScores, kAlphabet * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    notify(s, std::move(done));
    OCR_CHECK(cudaEventRecord(s.idle, stream_));
  }

 private:
  struct Slot {
    float *glyph = nullptr, *scores = nullptr;
    float *deviceGlyph = nullptr, *deviceScores = nullptr;
    cudaEvent_t idle{};
  };
  struct Delivery {
    Completion done;
    const float* scores;
  };

  static void CUDART_CB deliver(void* opaque) {
    std::unique_ptr<Delivery> delivery(static_cast<Delivery*>(opaque));
    delivery->done(delivery->scores);
  }

  void notify(const Slot& s, Completion done) {
    auto delivery = std::make_unique<Delivery>(Delivery{std::move(done), s.scores});
    OCR_CHECK(cudaLaunchHostFunc(stream_, &Scorer::deliver, delivery.release()));
  }

  std::mutex mutex_;
  cudaStream_t stream_{};
  std::array<Slot, kDepth> slots_;
  unsigned next_ = 0;
};

std::future<int> classify(Scorer& scorer, const std::vector<float>& glyph) {
  auto promise = std::make_shared<std::promise<int>>();
  std::future<int> letter = promise->get_future();
  scorer.submit(glyph, [promise](const float* scores) {
    int best = 0;
    for (int i = 1; i < kAlphabet; ++i)
      if (scores[i] > scores[best]) best = i;
    promise->set_value(best);
  });
  return letter;
}

}  // namespace ocr

int main() {
  ocr::Scorer scorer;
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c)
    clients.emplace_back([c, &scorer] {
      std::vector<float> glyph(ocr::kGlyph);
      for (int page = 0; page < 10; ++page) {
        for (int i = 0; i < ocr::kGlyph; ++i) glyph[i] = float((i * (c + 3) + page) % 17);
        std::future<int> letter = ocr::classify(scorer, glyph);
        if (letter.get() < 0) std::abort();
      }
    });
  for (auto& t : clients) t.join();
  std::puts("ok");
  return 0;
}
