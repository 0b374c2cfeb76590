// Ensemble forecast post-processing: member fields are regridded on the
// pipeline's stage stream; clients copy the result out on their own streams.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

namespace ens {

inline void check(cudaError_t e, const char* what, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s failed at line %d: %s\n", what, line, cudaGetErrorString(e));
    std::abort();
  }
}
#define ENS_CU(x) ::ens::check((x), #x, __LINE__)

struct Grid {
  int nlat;
  int nlon;
  size_t points() const { return static_cast<size_t>(nlat) * nlon; }
};

__global__ void regrid(const float* __restrict__ src, float* __restrict__ dst, int n, float w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float east = src[(i + 1) % n];
    dst[i] = w * src[i] + (1.f - w) * east;
  }
}

__global__ void addBias(float* field, int n, float bias) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) field[i] += bias;
}

struct Output {
  float* data = nullptr;
  cudaEvent_t ready = nullptr;
  int member = -1;
};

class Pipeline {
 public:
  static constexpr int kDepth = 2;

  explicit Pipeline(Grid g) : grid_(g) {
    ENS_CU(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (auto& o : slots_) {
      ENS_CU(cudaMalloc(reinterpret_cast<void**>(&o.data), g.points() * sizeof(float)));
      ENS_CU(cudaEventCreateWithFlags(&o.ready, cudaEventDisableTiming));
      free_.push_back(&o);
    }
    ENS_CU(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
  }

  ~Pipeline() {
    ENS_CU(cudaDeviceSynchronize());
    for (auto& o : slots_) {
      cudaFree(o.data);
      cudaEventDestroy(o.ready);
    }
    cudaEventDestroy(copied_);
    cudaStreamDestroy(stage_);
  }

  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  cudaStream_t stageStream() const { return stage_; }

  // `member` was produced on the stage stream.
  bool run(const float* memberField, int member, float bias) {
    if (free_.empty()) return false;
    Output* o = free_.front();
    free_.pop_front();
    const int n = static_cast<int>(grid_.points());
    regrid<<<(n + 127) / 128, 128, 0, stage_>>>(memberField, o->data, n, 0.75f);
    addBias<<<(n + 127) / 128, 128, 0, stage_>>>(o->data, n, bias);
    ENS_CU(cudaGetLastError());
    ENS_CU(cudaEventRecord(o->ready, stage_));
    o->member = member;
    done_.push_back(o);
    return true;
  }

  // Copies the oldest output into `dst` on the caller's stream.
  std::optional<int> copyToExternal(float* dst, cudaStream_t user) {
    Output* o = front();
    if (!o) return std::nullopt;
    ENS_CU(cudaStreamWaitEvent(user, o->ready, 0));
    ENS_CU(cudaMemcpyAsync(dst, o->data, grid_.points() * sizeof(float),
                           cudaMemcpyDeviceToDevice, user));
    ENS_CU(cudaEventRecord(copied_, user));
    ENS_CU(cudaStreamWaitEvent(stage_, copied_, 0));
    return o->member;
  }

  // Gives the oldest output back for the next iteration.
  void releaseOutput() {
    if (done_.empty()) return;
    free_.push_back(done_.front());
    done_.pop_front();
  }

 private:
  Output* front() {
    return done_.empty() ? nullptr : done_.front();
  }

  Grid grid_;
  cudaStream_t stage_ = nullptr;
  cudaEvent_t copied_ = nullptr;
  std::array<Output, kDepth> slots_;
  std::deque<Output*> free_;
  std::deque<Output*> done_;
};

// Collects every member of one forecast hour in a contiguous cube.
void gatherMembers(Pipeline& p, const float* const* members, int count, Grid g, float* cube,
                   cudaStream_t user) {
  for (int m = 0; m < count; ++m) {
    p.run(members[m], m, 0.1f * m);
    p.copyToExternal(cube + m * g.points(), user);
    p.releaseOutput();
  }
}

}  // namespace ens
