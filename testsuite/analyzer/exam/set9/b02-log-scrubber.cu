// Removes masked records from a column of log lines that already sits on the
// GPU. Every stage takes the stream of the session that owns the column.

#include <cuda_runtime.h>
#include <cub/device/device_scan.cuh>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace scrub {

inline void require(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

class Session {
 public:
  explicit Session(std::size_t max_rows) : max_rows_(max_rows) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    require(cudaMalloc(&keep_, max_rows * sizeof(int)), "keep");
    require(cudaMalloc(&slot_, (max_rows + 1) * sizeof(int)), "slot");
    cub::DeviceScan::ExclusiveSum(nullptr, temp_bytes_, keep_, slot_, static_cast<int>(max_rows + 1));
    require(cudaMalloc(&temp_, temp_bytes_), "temp");
  }
  ~Session() {
    cudaStreamSynchronize(stream_);
    cudaFree(temp_);
    cudaFree(slot_);
    cudaFree(keep_);
    cudaStreamDestroy(stream_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  cudaStream_t stream() const { return stream_; }
  int* keep() const { return keep_; }
  int* slot() const { return slot_; }
  void* temp() const { return temp_; }
  std::size_t temp_bytes() const { return temp_bytes_; }
  std::size_t max_rows() const { return max_rows_; }

 private:
  std::size_t max_rows_;
  cudaStream_t stream_ = nullptr;
  int* keep_ = nullptr;
  int* slot_ = nullptr;
  void* temp_ = nullptr;
  std::size_t temp_bytes_ = 0;
};

__global__ void flag_rows(const std::uint32_t* severity, std::uint32_t floor, int* keep, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) keep[row] = severity[row] >= floor ? 1 : 0;
}

__global__ void move_rows(const std::uint64_t* in, const int* keep, const int* slot, std::uint64_t* out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && keep[row]) out[slot[row]] = in[row];
}

inline int blocks_for(int rows) { return (rows + 255) / 256; }

void mark(Session& s, const std::uint32_t* severity, std::uint32_t floor, int rows) {
  flag_rows<<<blocks_for(rows), 256, 0, s.stream()>>>(severity, floor, s.keep(), rows);
  require(cudaGetLastError(), "flag_rows");
}

void number(Session& s, int rows) {
  std::size_t bytes = s.temp_bytes();
  require(cub::DeviceScan::ExclusiveSum(s.temp(), bytes, s.keep(), s.slot(), rows), "scan");
}

void pack(Session& s, const std::uint64_t* in, std::uint64_t* out, int rows) {
  move_rows<<<blocks_for(rows), 256, 0, s.stream()>>>(in, s.keep(), s.slot(), out, rows);
  require(cudaGetLastError(), "move_rows");
}

// Number of rows that survived the last mark()/number() pair.
int surviving(Session& s, int rows) {
  int last_slot = 0;
  int last_keep = 0;
  require(cudaMemcpyAsync(&last_slot, s.slot() + rows - 1, sizeof(int), cudaMemcpyDeviceToHost, s.stream()), "slot");
  require(cudaMemcpyAsync(&last_keep, s.keep() + rows - 1, sizeof(int), cudaMemcpyDeviceToHost, s.stream()), "keep");
  require(cudaStreamSynchronize(s.stream()), "surviving");
  return last_slot + last_keep;
}

int scrub_column(Session& s, const std::uint32_t* severity, const std::uint64_t* in, std::uint64_t* out,
                 int rows, std::uint32_t floor) {
  if (rows == 0) return 0;
  if (static_cast<std::size_t>(rows) > s.max_rows()) throw std::length_error("scrub_column: too many rows");
  mark(s, severity, floor, rows);
  number(s, rows);
  pack(s, in, out, rows);
  return surviving(s, rows);
}

}  // namespace scrub
