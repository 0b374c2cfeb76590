// Column statistics of a large table. Each host thread drives one stream and owns a range
// of columns in the shared tables; row counts go to one counter by atomics.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace stats {

#define CHECKED(x) do { cudaError_t z_ = (x); if (z_ != cudaSuccess) { std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(z_)); std::abort(); } } while (0)

__global__ void columnMax(const float* table, int rows, int first, int columns, float* best, unsigned long long* seen) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const float* col = table + std::size_t(first + c) * rows;
  float m = col[0];
  for (int r = 1; r < rows; ++r) m = fmaxf(m, col[r]);
  best[first + c] = m;
  atomicAdd(seen, (unsigned long long)rows);
}

__global__ void scaleColumns(float* table, int rows, int columns, const float* best) {
  int c = blockIdx.x;
  if (c >= columns) return;
  float inv = best[c] != 0.f ? 1.f / best[c] : 1.f;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) table[std::size_t(c) * rows + r] *= inv;
}

struct Range { int first, count; };

class Lane {
 public:
  Lane() {
    CHECKED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECKED(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~Lane() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
};

class ColumnScaler {
 public:
  ColumnScaler(int rows, int columns, int lanes) : rows_(rows), columns_(columns) {
    for (int i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
    CHECKED(cudaStreamCreateWithFlags(&gather_, cudaStreamNonBlocking));
    CHECKED(cudaMalloc(reinterpret_cast<void**>(&table_), std::size_t(rows) * columns * sizeof(float)));
    CHECKED(cudaMalloc(reinterpret_cast<void**>(&best_), columns * sizeof(float)));
    CHECKED(cudaMalloc(reinterpret_cast<void**>(&seen_), sizeof(*seen_)));
  }
  ~ColumnScaler() {
    lanes_.clear();
    cudaStreamSynchronize(gather_);
    cudaFree(table_);
    cudaFree(best_);
    cudaFree(seen_);
    cudaStreamDestroy(gather_);
  }

  // Scales the columns of the page-locked `host` table in place; returns the cells seen.
  unsigned long long run(float* host) {
    CHECKED(cudaMemsetAsync(seen_, 0, sizeof(*seen_), gather_));
    CHECKED(cudaStreamSynchronize(gather_));

    std::vector<std::thread> crew;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      crew.emplace_back([this, host, i] { load(*lanes_[i], rangeOf(i), host); });
    for (std::thread& t : crew) t.join();

    for (auto& l : lanes_) CHECKED(cudaStreamWaitEvent(gather_, l->done, 0));
    scaleColumns<<<columns_, 128, 0, gather_>>>(table_, rows_, columns_, best_);
    unsigned long long cells = 0;
    CHECKED(cudaMemcpyAsync(host, table_, std::size_t(rows_) * columns_ * sizeof(float), cudaMemcpyDeviceToHost, gather_));
    CHECKED(cudaMemcpyAsync(&cells, seen_, sizeof(cells), cudaMemcpyDeviceToHost, gather_));
    CHECKED(cudaStreamSynchronize(gather_));
    return cells;
  }

 private:
  Range rangeOf(std::size_t lane) const {
    const int n = int(lanes_.size()), per = (columns_ + n - 1) / n;
    const int first = int(lane) * per < columns_ ? int(lane) * per : columns_;
    return {first, first + per < columns_ ? per : columns_ - first};
  }

  void load(Lane& l, Range r, const float* host) {
    if (r.count > 0) {
      const std::size_t offset = std::size_t(r.first) * rows_;
      CHECKED(cudaMemcpyAsync(table_ + offset, host + offset, std::size_t(r.count) * rows_ * sizeof(float),
                              cudaMemcpyHostToDevice, l.stream));
      columnMax<<<(r.count + 63) / 64, 64, 0, l.stream>>>(table_, rows_, r.first, r.count, best_, seen_);
      CHECKED(cudaGetLastError());
    }
    CHECKED(cudaEventRecord(l.done, l.stream));
  }

  int rows_, columns_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  cudaStream_t gather_ = nullptr;
  float *table_ = nullptr, *best_ = nullptr;
  unsigned long long* seen_ = nullptr;
};

}  // namespace stats
