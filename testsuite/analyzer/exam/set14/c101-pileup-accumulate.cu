// Pile-up counts of two sequencing lanes, added into one coverage track.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#define SEQ_CHECK(x)                                                            \
  do {                                                                          \
    cudaError_t seq_e = (x);                                                    \
    if (seq_e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(seq_e)); \
  } while (0)

namespace pileup {

__global__ void addLane(const int* starts, int reads, int readLength, int* coverage, int length) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= length) return;
  int c = coverage[p];
  for (int r = 0; r < reads; ++r)
    if (p >= starts[r] && p < starts[r] + readLength) ++c;
  coverage[p] = c;
}

class Lane {
 public:
  explicit Lane(int maxReads) : max_(maxReads) {
    SEQ_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SEQ_CHECK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    SEQ_CHECK(cudaMalloc(reinterpret_cast<void**>(&starts_), maxReads * sizeof(int)));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaFree(starts_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void upload(const std::vector<int>& starts) {
    reads_ = static_cast<int>(starts.size()) < max_ ? static_cast<int>(starts.size()) : max_;
    SEQ_CHECK(cudaMemcpyAsync(starts_, starts.data(), reads_ * sizeof(int), cudaMemcpyHostToDevice,
                              stream_));
    SEQ_CHECK(cudaStreamSynchronize(stream_));
  }

  // Adds the lane behind `after`; the returned event marks the end.
  cudaEvent_t add(int* coverage, int length, int readLength, cudaEvent_t after) {
    SEQ_CHECK(cudaStreamWaitEvent(stream_, after, 0));
    addLane<<<(length + 255) / 256, 256, 0, stream_>>>(starts_, reads_, readLength, coverage, length);
    SEQ_CHECK(cudaGetLastError());
    SEQ_CHECK(cudaEventRecord(done_, stream_));
    return done_;
  }

 private:
  int max_;
  int reads_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  int* starts_ = nullptr;
};

class Coverage {
 public:
  explicit Coverage(int length) : length_(length), first_(1 << 16), second_(1 << 16) {
    SEQ_CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    SEQ_CHECK(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
    SEQ_CHECK(cudaMalloc(reinterpret_cast<void**>(&track_), length * sizeof(int)));
  }
  ~Coverage() {
    cudaStreamSynchronize(main_);
    cudaFree(track_);
    cudaEventDestroy(cleared_);
    cudaStreamDestroy(main_);
  }

  std::vector<int> compute(const std::vector<int>& laneA, const std::vector<int>& laneB, int readLength) {
    first_.upload(laneA);
    second_.upload(laneB);
    SEQ_CHECK(cudaMemsetAsync(track_, 0, length_ * sizeof(int), main_));
    SEQ_CHECK(cudaEventRecord(cleared_, main_));
    cudaEvent_t e = first_.add(track_, length_, readLength, cleared_);
    e = second_.add(track_, length_, readLength, e);
    SEQ_CHECK(cudaStreamWaitEvent(main_, e, 0));
    std::vector<int> out(length_);
    SEQ_CHECK(cudaMemcpyAsync(out.data(), track_, length_ * sizeof(int), cudaMemcpyDeviceToHost, main_));
    SEQ_CHECK(cudaStreamSynchronize(main_));
    return out;
  }

 private:
  int length_;
  Lane first_;
  Lane second_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t cleared_ = nullptr;
  int* track_ = nullptr;
};

}  // namespace pileup
