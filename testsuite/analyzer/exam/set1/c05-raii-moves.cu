// Move-only owners of streams, events and buffers, kept in one container.
#include <cuda_runtime.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace rt {

void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorName(e));
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { reset(); }
  Stream(Stream&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  Stream& operator=(Stream&& o) noexcept {
    if (this != &o) {
      reset();
      s_ = std::exchange(o.s_, nullptr);
    }
    return *this;
  }
  operator cudaStream_t() const { return s_; }

 private:
  void reset() {
    if (s_) {
      cudaStreamSynchronize(s_);
      cudaStreamDestroy(s_);
    }
    s_ = nullptr;
  }
  cudaStream_t s_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() {
    if (e_) cudaEventDestroy(e_);
  }
  Event(Event&& o) noexcept : e_(std::exchange(o.e_, nullptr)) {}
  Event& operator=(Event&& o) noexcept {
    std::swap(e_, o.e_);
    return *this;
  }
  void record(const Stream& s) { check(cudaEventRecord(e_, s)); }
  void block(const Stream& s) const { check(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class Floats {
 public:
  explicit Floats(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(float))); }
  ~Floats() { cudaFree(p_); }
  Floats(Floats&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_) {}
  float* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  float* p_ = nullptr;
  size_t n_;
};

__global__ void relax(const float* in, float* out, size_t n) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i > 0 && i + 1 < n) out[i] = 0.25f * (in[i - 1] + 2.f * in[i] + in[i + 1]);
}

// One stage of a pipeline: reads the field of the stage before. The members are
// destroyed in reverse order, so the stream is drained before the field goes.
struct Stage {
  Floats field;
  Event ready;
  Stream stream;
  explicit Stage(size_t n) : field(n) {}
};

class Pipeline {
 public:
  Pipeline(size_t stages, size_t n) {
    for (size_t i = 0; i < stages; ++i) {
      Stage s(n);
      check(cudaMemsetAsync(s.field.get(), 0, n * sizeof(float), s.stream));
      s.ready.record(s.stream);
      stages_.push_back(std::move(s));
    }
  }
  ~Pipeline() {
    // A stage reads its neighbour's field: drain all before any goes away.
    for (auto& s : stages_) cudaStreamSynchronize(s.stream);
  }

  void sweep() {
    for (size_t i = 1; i < stages_.size(); ++i) {
      Stage& from = stages_[i - 1];
      Stage& to = stages_[i];
      from.ready.block(to.stream);
      unsigned grid = static_cast<unsigned>((to.field.size() + 255) / 256);
      relax<<<grid, 256, 0, to.stream>>>(from.field.get(), to.field.get(), to.field.size());
      check(cudaGetLastError());
      to.ready.record(to.stream);
    }
    // The next sweep rewrites what the later stages have just read.
    for (size_t i = 1; i < stages_.size(); ++i) stages_[i].ready.block(stages_[i - 1].stream);
  }

 private:
  std::vector<Stage> stages_;
};

}  // namespace rt
