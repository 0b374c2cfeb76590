// Block-structured advection solver: boxes of a level are visited by an iterator that rotates streams.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define LVL_CHECK(stmt)                                                                    \
  do {                                                                                     \
    cudaError_t st = (stmt);                                                               \
    if (st != cudaSuccess) {                                                               \
      std::fprintf(stderr, "lvl: %s (%s:%d)\n", cudaGetErrorString(st), __FILE__, __LINE__); \
      std::exit(EXIT_FAILURE);                                                             \
    }                                                                                      \
  } while (0)

namespace lvl {

constexpr int kStreams = 4;

struct Box {
  int begin;
  int cells;
};

class GpuContext {
 public:
  GpuContext() {
    for (auto& s : streams_) LVL_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    LVL_CHECK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
  }
  ~GpuContext() {
    for (auto s : streams_) cudaStreamDestroy(s);
    cudaEventDestroy(fork_);
  }
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  cudaStream_t main() const { return streams_[0]; }
  cudaStream_t current() const { return streams_[active_]; }
  void setActive(int index) { active_ = index % kStreams; }

  /// Makes the other streams wait for what main() has been given so far.
  void fork() {
    LVL_CHECK(cudaEventRecord(fork_, streams_[0]));
    for (int i = 1; i < kStreams; ++i) LVL_CHECK(cudaStreamWaitEvent(streams_[i], fork_, 0));
  }
  void synchronizeAll() {
    for (auto s : streams_) LVL_CHECK(cudaStreamSynchronize(s));
  }

 private:
  std::array<cudaStream_t, kStreams> streams_{};
  cudaEvent_t fork_{};
  int active_ = 0;
};

/// Visits boxes; box i works on stream i % kStreams. The end of the loop waits for all of them.
class BoxIterator {
 public:
  BoxIterator(GpuContext& ctx, const std::vector<Box>& boxes) : ctx_(ctx), boxes_(boxes) { ctx_.setActive(0); }
  ~BoxIterator() {
    ctx_.synchronizeAll();
    ctx_.setActive(0);
  }
  bool isValid() const { return index_ < boxes_.size(); }
  const Box& box() const { return boxes_[index_]; }
  void operator++() { ctx_.setActive(static_cast<int>(++index_)); }

 private:
  GpuContext& ctx_;
  const std::vector<Box>& boxes_;
  size_t index_ = 0;
};

__global__ void faceVelocity(const float* rho, float* face, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) face[i] = i == 0 ? rho[0] : 0.5f * (rho[i] + rho[i - 1]);
}

__global__ void upwind(const float* rho, const float* face, float* next, Box box, int n, float cfl) {
  int i = box.begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= box.begin + box.cells) return;
  int l = i == 0 ? n - 1 : i - 1;
  next[i] = rho[i] - cfl * (face[i] * rho[i] - face[l] * rho[l]);
}

class Level {
 public:
  Level(GpuContext& ctx, int cells, int boxCells) : ctx_(ctx), cells_(cells) {
    for (int b = 0; b < cells; b += boxCells) boxes_.push_back({b, std::min(boxCells, cells - b)});
    for (float** p : {&rho_, &face_, &next_}) LVL_CHECK(cudaMalloc(p, cells * sizeof(float)));
    std::vector<float> initial(cells, 0.1f);
    for (int i = cells / 4; i < cells / 2; ++i) initial[i] = 1.0f;
    LVL_CHECK(cudaMemcpy(rho_, initial.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    LVL_CHECK(cudaDeviceSynchronize());
  }
  ~Level() {
    ctx_.synchronizeAll();
    for (float* p : {rho_, face_, next_}) cudaFree(p);
  }
  Level(const Level&) = delete;

  void step(float cfl) {
    computeFaces();
    for (BoxIterator it(ctx_, boxes_); it.isValid(); ++it) advance(it.box(), cfl);
    std::swap(rho_, next_);
  }

  float sample(int cell) {
    float value = 0;
    LVL_CHECK(cudaMemcpyAsync(&value, rho_ + cell, sizeof value, cudaMemcpyDeviceToHost, ctx_.main()));
    LVL_CHECK(cudaStreamSynchronize(ctx_.main()));
    return value;
  }

 private:
  void computeFaces() {
    faceVelocity<<<(cells_ + 255) / 256, 256, 0, ctx_.current()>>>(rho_, face_, cells_);
    LVL_CHECK(cudaGetLastError());
  }

  void advance(const Box& box, float cfl) {
    upwind<<<(box.cells + 127) / 128, 128, 0, ctx_.current()>>>(rho_, face_, next_, box, cells_, cfl);
    LVL_CHECK(cudaGetLastError());
  }

  GpuContext& ctx_;
  int cells_;
  std::vector<Box> boxes_;
  float *rho_ = nullptr, *face_ = nullptr, *next_ = nullptr;
};

}  // namespace lvl

int main() {
  lvl::GpuContext ctx;
  lvl::Level level(ctx, 1 << 20, 1 << 17);
  for (int s = 0; s < 100; ++s) level.step(0.3f);
  std::printf("rho = %f\n", level.sample(1 << 19));
  return 0;
}
