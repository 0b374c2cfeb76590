// Column ingest of the log analytics engine: host columns are packed into page-locked pool blocks and sent to the
// device. Numeric columns are copied as they are, text columns become an offset and a byte array.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace ingest {

inline void expect(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

// Page-locked blocks of equal size, shared by all ingest threads.
class PinnedPool {
 public:
  PinnedPool(size_t block_bytes, int blocks) : block_bytes_(block_bytes) {
    expect(cudaMallocHost(&base_, block_bytes * blocks));
    for (int i = 0; i < blocks; ++i) free_.push_back(static_cast<char*>(base_) + i * block_bytes);
  }
  ~PinnedPool() {
    cudaDeviceSynchronize();
    cudaFreeHost(base_);
  }
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  size_t block_bytes() const { return block_bytes_; }

  void* get() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) throw std::bad_alloc();
    void* p = free_.back();
    free_.pop_back();
    return p;
  }

  void put(void* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(p);
  }

 private:
  size_t block_bytes_;
  void* base_ = nullptr;
  std::mutex mutex_;
  std::vector<void*> free_;
};

class PinnedBlock {
 public:
  explicit PinnedBlock(PinnedPool& pool) : pool_(pool), data_(pool.get()) {}
  ~PinnedBlock() { pool_.put(data_); }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  PinnedPool& pool_;
  void* data_;
};

struct HostColumn {
  std::string name;
  std::vector<double> numbers;     // numeric column, or
  std::vector<std::string> texts;  // text column
  bool is_text() const { return !texts.empty(); }
};

struct DeviceColumn {
  size_t rows = 0;
  double* numbers = nullptr;
  uint32_t* offsets = nullptr;
  char* bytes = nullptr;
};

template <typename T>
static T* send(const T* src, size_t count, cudaStream_t stream) {
  T* dst = nullptr;
  expect(cudaMallocAsync(reinterpret_cast<void**>(&dst), count * sizeof(T), stream));
  expect(cudaMemcpyAsync(dst, src, count * sizeof(T), cudaMemcpyHostToDevice, stream));
  return dst;
}

class ColumnWriter {
 public:
  ColumnWriter(PinnedPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  DeviceColumn write(const HostColumn& column) { return column.is_text() ? write_text(column) : write_numbers(column); }

 private:
  DeviceColumn write_numbers(const HostColumn& column) {
    DeviceColumn out;
    out.rows = column.numbers.size();
    check_fits(out.rows * sizeof(double));
    PinnedBlock block(pool_);
    std::memcpy(block.as<double>(), column.numbers.data(), out.rows * sizeof(double));
    out.numbers = send(block.as<double>(), out.rows, stream_);
    expect(cudaStreamSynchronize(stream_));
    return out;
  }

  DeviceColumn write_text(const HostColumn& column) {
    DeviceColumn out;
    out.rows = column.texts.size();
    PinnedBlock offsets(pool_), bytes(pool_);
    check_fits((out.rows + 1) * sizeof(uint32_t));
    uint32_t used = 0;
    for (size_t i = 0; i < out.rows; ++i) {
      offsets.as<uint32_t>()[i] = used;
      check_fits(used + column.texts[i].size());
      std::memcpy(bytes.as<char>() + used, column.texts[i].data(), column.texts[i].size());
      used += static_cast<uint32_t>(column.texts[i].size());
    }
    offsets.as<uint32_t>()[out.rows] = used;
    out.offsets = send(offsets.as<uint32_t>(), out.rows + 1, stream_);
    out.bytes = send(bytes.as<char>(), used, stream_);
    expect(cudaStreamSynchronize(stream_));
    return out;
  }

  void check_fits(size_t bytes) const {
    if (bytes > pool_.block_bytes()) throw std::length_error("column too long for a staging block");
  }

  PinnedPool& pool_;
  cudaStream_t stream_;
};

// Sends a whole table; the columns are ready for work enqueued on `stream`.
std::vector<DeviceColumn> ingest_table(const std::vector<HostColumn>& table, PinnedPool& pool, cudaStream_t stream) {
  ColumnWriter writer(pool, stream);
  std::vector<DeviceColumn> out;
  out.reserve(table.size());
  for (const HostColumn& c : table) out.push_back(writer.write(c));
  return out;
}

}  // namespace ingest
