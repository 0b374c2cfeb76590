// Keyframe descriptors of a SLAM front end.
//
// The tracking stream matches a scan against the table and writes refined descriptors back;
// the mapping stream inserts new keyframes into rows that the tracker gave up.
#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace slam {

[[noreturn]] void raise(cudaError_t rc, int line) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + cudaGetErrorString(rc));
}
#define SLAM_CUDA(x) do { cudaError_t rc__ = (x); if (rc__ != cudaSuccess) raise(rc__, __LINE__); } while (0)

constexpr int kDim = 64;

__global__ void matchScan(const float* table, const int* rows, int nrows, const float* scan, float* score) {
  int r = blockIdx.x;
  if (r >= nrows || threadIdx.x != 0) return;
  float s = 0.0f;
  for (int d = 0; d < kDim; ++d) s += table[rows[r] * kDim + d] * scan[d];
  score[r] = s;
}

__global__ void refineRows(float* table, const int* rows, int nrows, const float* scan, const float* score) {
  int r = blockIdx.x;
  int d = threadIdx.x;
  if (r < nrows && d < kDim) table[rows[r] * kDim + d] += 0.1f * score[r] * scan[d];
}

__global__ void insertRow(float* table, int row, const float* descriptor) {
  if (threadIdx.x < kDim) table[row * kDim + threadIdx.x] = descriptor[threadIdx.x];
}

class Stream {
 public:
  Stream() { SLAM_CUDA(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

class Event {
 public:
  Event() { SLAM_CUDA(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  void record(cudaStream_t s) { SLAM_CUDA(cudaEventRecord(e_, s)); }
  void block(cudaStream_t s) { SLAM_CUDA(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class KeyframeTable {
 public:
  explicit KeyframeTable(int rows) : rows_(rows) {
    SLAM_CUDA(cudaMalloc(reinterpret_cast<void**>(&table_), sizeof(float) * rows_ * kDim));
    SLAM_CUDA(cudaMalloc(reinterpret_cast<void**>(&score_), sizeof(float) * rows_));
    SLAM_CUDA(cudaMemset(table_, 0, sizeof(float) * rows_ * kDim));
    SLAM_CUDA(cudaDeviceSynchronize());
  }
  ~KeyframeTable() {
    cudaDeviceSynchronize();
    cudaFree(score_);
    cudaFree(table_);
  }

  // Both arrays are on the device and stay unchanged until sync().
  void track(const int* rows, int nrows, const float* scan) {
    inserted_.block(tracking_);
    match(rows, nrows, scan);
    refine(rows, nrows, scan);
  }

  // Puts a new keyframe into `row`; the row may belong to the scan tracked last.
  void insert(int row, const float* descriptor) {
    tracked_.block(mapping_);
    insertRow<<<1, kDim, 0, mapping_>>>(table_, row, descriptor);
    SLAM_CUDA(cudaGetLastError());
    inserted_.record(mapping_);
  }

  std::vector<float> sync() {
    std::vector<float> host(static_cast<size_t>(rows_) * kDim);
    SLAM_CUDA(cudaStreamSynchronize(tracking_));
    SLAM_CUDA(cudaStreamSynchronize(mapping_));
    SLAM_CUDA(cudaMemcpy(host.data(), table_, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  void match(const int* rows, int nrows, const float* scan) {
    matchScan<<<nrows, 32, 0, tracking_>>>(table_, rows, nrows, scan, score_);
    SLAM_CUDA(cudaGetLastError());
    tracked_.record(tracking_);
  }

  void refine(const int* rows, int nrows, const float* scan) {
    refineRows<<<nrows, kDim, 0, tracking_>>>(table_, rows, nrows, scan, score_);
    SLAM_CUDA(cudaGetLastError());
  }

  int rows_;
  float* table_ = nullptr;
  float* score_ = nullptr;
  Stream tracking_, mapping_;
  Event tracked_, inserted_;
};

struct Scan {
  const int* rows;
  int nrows;
  const float* descriptor;
  int retiredRow;
};

std::vector<float> replayLog(KeyframeTable& table, const std::deque<Scan>& log) {
  for (const Scan& scan : log) {
    table.track(scan.rows, scan.nrows, scan.descriptor);
    if (scan.retiredRow >= 0) table.insert(scan.retiredRow, scan.descriptor);
  }
  return table.sync();
}

}  // namespace slam
