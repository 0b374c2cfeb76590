/* Motion statistics for a hardware encoder's rate control. Vectors of a frame
 * are gathered into a bucket; full buckets are histogrammed on a second stream
 * while the next bucket fills. */
#include <cuda_runtime.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#define CK(call)                                                         \
  {                                                                      \
    cudaError_t err = (call);                                            \
    if (err != cudaSuccess) {                                            \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                  \
              cudaGetErrorString(err));                                  \
      assert(0);                                                         \
    }                                                                    \
  }

struct MotionVec {
  int16_t dx, dy;
};

__global__ void estimateMotion(const uint8_t* cur, const uint8_t* ref, int pitch, int blocks, MotionVec* out) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  int best = 1 << 30;
  MotionVec mv = {0, 0};
  for (int dx = -8; dx <= 8; ++dx) {
    int sad = 0;
    for (int k = 0; k < 16; ++k) sad += abs(int(cur[b * 16 + k]) - int(ref[b * 16 + k + 8 + dx]));
    if (sad < best) {
      best = sad;
      mv.dx = (int16_t)dx;
    }
  }
  mv.dy = (int16_t)(best % pitch);
  out[b] = mv;
}

__global__ void accumulateHistogram(const MotionVec* mv, int n, unsigned* hist) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&hist[(mv[i].dx + 8) & 31], 1u);
}

class StatsBucket {
 public:
  explicit StatsBucket(int capacity) : capacity_(capacity) {
    for (int i = 0; i < 2; ++i) CK(cudaMalloc(&half_[i], capacity * sizeof(MotionVec)));
  }
  ~StatsBucket() {
    cudaFree(half_[0]);
    cudaFree(half_[1]);
  }
  MotionVec* reserve(int n) {
    assert(used_ + n <= capacity_);
    MotionVec* p = half_[index_] + used_;
    used_ += n;
    return p;
  }
  bool full(int n) const { return used_ + n > capacity_; }
  const MotionVec* current() const { return half_[index_]; }
  int used() const { return used_; }
  void swap() { index_ ^= 1; }
  void clear() { used_ = 0; }

 private:
  int capacity_;
  int used_ = 0;
  int index_ = 0;
  MotionVec* half_[2] = {nullptr, nullptr};
};

class RateControlStats {
 public:
  explicit RateControlStats(int capacity) : bucket_(capacity) {
    CK(cudaStreamCreateWithFlags(&search_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&stats_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&drained_, cudaEventDisableTiming));
    CK(cudaMalloc(&hist_, 32 * sizeof(unsigned)));
    CK(cudaMemsetAsync(hist_, 0, 32 * sizeof(unsigned), stats_));
  }
  ~RateControlStats() {
    CK(cudaStreamSynchronize(search_));
    CK(cudaStreamSynchronize(stats_));
    cudaFree(hist_);
    cudaEventDestroy(filled_);
    cudaEventDestroy(drained_);
    cudaStreamDestroy(search_);
    cudaStreamDestroy(stats_);
  }

  void slice(const uint8_t* cur, const uint8_t* ref, int pitch, int blocks) {
    if (bucket_.full(blocks)) flush();
    MotionVec* dst = bucket_.reserve(blocks);
    estimateMotion<<<(blocks + 63) / 64, 64, 0, search_>>>(cur, ref, pitch, blocks, dst);
    CK(cudaGetLastError());
  }

  void flush() {
    if (!bucket_.used()) return;
    CK(cudaStreamWaitEvent(search_, drained_, 0));
    CK(cudaEventRecord(filled_, search_));
    CK(cudaStreamWaitEvent(stats_, filled_, 0));
    accumulateHistogram<<<32, 128, 0, stats_>>>(bucket_.current(), bucket_.used(), hist_);
    CK(cudaEventRecord(drained_, stats_));
    bucket_.swap();
    bucket_.clear();
  }

  void read(unsigned out[32]) {
    flush();
    CK(cudaMemcpyAsync(out, hist_, 32 * sizeof(unsigned), cudaMemcpyDeviceToHost, stats_));
    CK(cudaStreamSynchronize(stats_));
  }

 private:
  StatsBucket bucket_;
  cudaStream_t search_, stats_;
  cudaEvent_t filled_, drained_;
  unsigned* hist_;
};

void analyseFrame(RateControlStats& rc, const uint8_t* cur, const uint8_t* ref, int pitch, int slices, int blocks) {
  for (int s = 0; s < slices; ++s)
    rc.slice(cur + s * blocks * 16, ref + s * blocks * 16, pitch, blocks);
}
