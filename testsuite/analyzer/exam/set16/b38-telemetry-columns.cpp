// Uploads telemetry tables column by column; staging memory comes from a pinned pool.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace telemetry {

class GpuError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void expect(cudaError_t status) {
  if (status != cudaSuccess) throw GpuError(cudaGetErrorString(status));
}

/// Pinned blocks by size. A block that is given back is handed out again as it is.
class PinnedPool {
 public:
  PinnedPool() = default;
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  ~PinnedPool() {
    for (auto& [bytes, ptr] : idle_) cudaFreeHost(ptr);
  }

  void* take(std::size_t bytes) {
    auto it = idle_.lower_bound(bytes);
    if (it != idle_.end()) {
      void* p = it->second;
      sizes_[p] = it->first;
      idle_.erase(it);
      return p;
    }
    void* p = nullptr;
    expect(cudaMallocHost(&p, bytes));
    sizes_[p] = bytes;
    return p;
  }

  void give(void* p) {
    auto it = sizes_.find(p);
    idle_.emplace(it->second, p);
    sizes_.erase(it);
  }

 private:
  std::multimap<std::size_t, void*> idle_;
  std::map<void*, std::size_t> sizes_;
};

template <class T>
class PinnedVector {
 public:
  PinnedVector(PinnedPool& pool, std::size_t n) : pool_(pool), size_(n), data_(static_cast<T*>(pool.take(n * sizeof(T)))) {}
  ~PinnedVector() { pool_.give(data_); }
  PinnedVector(const PinnedVector&) = delete;
  PinnedVector& operator=(const PinnedVector&) = delete;
  T& operator[](std::size_t i) { return data_[i]; }
  const T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  PinnedPool& pool_;
  std::size_t size_;
  T* data_;
};

class DeviceBytes {
 public:
  DeviceBytes(std::size_t n, cudaStream_t stream) : stream_(stream) { expect(cudaMallocAsync(&data_, n, stream)); }
  ~DeviceBytes() { cudaFreeAsync(data_, stream_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* data() const { return data_; }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

using NumericColumn = std::vector<std::string>;  // decimal text as it comes from the log
struct TextColumn {
  std::vector<std::string> rows;
};
using HostColumn = std::variant<NumericColumn, TextColumn>;

struct DeviceColumn {
  std::unique_ptr<DeviceBytes> values;
  std::unique_ptr<DeviceBytes> offsets;
  std::size_t rows = 0;
};

/// Turns host columns into device columns, in the order of one stream.
class ColumnUploader {
 public:
  ColumnUploader(PinnedPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  DeviceColumn operator()(const NumericColumn& column) {
    PinnedVector<double> staged(pool_, column.size());
    for (std::size_t i = 0; i < column.size(); ++i) staged[i] = std::stod(column[i]);
    DeviceColumn out;
    out.rows = column.size();
    out.values = std::make_unique<DeviceBytes>(staged.bytes(), stream_);
    expect(cudaMemcpyAsync(out.values->data(), staged.data(), staged.bytes(), cudaMemcpyHostToDevice, stream_));
    return out;
  }

  DeviceColumn operator()(const TextColumn& column) {
    std::size_t total = 0;
    for (const auto& row : column.rows) total += row.size();
    PinnedVector<char> chars(pool_, total + 1);
    PinnedVector<std::int32_t> offsets(pool_, column.rows.size() + 1);
    std::size_t at = 0;
    for (std::size_t r = 0; r < column.rows.size(); ++r) {
      offsets[r] = static_cast<std::int32_t>(at);
      for (char c : column.rows[r]) chars[at++] = c;
    }
    offsets[column.rows.size()] = static_cast<std::int32_t>(at);
    DeviceColumn out;
    out.rows = column.rows.size();
    out.values = std::make_unique<DeviceBytes>(chars.bytes(), stream_);
    out.offsets = std::make_unique<DeviceBytes>(offsets.bytes(), stream_);
    expect(cudaMemcpyAsync(out.values->data(), chars.data(), chars.bytes(), cudaMemcpyHostToDevice, stream_));
    expect(cudaMemcpyAsync(out.offsets->data(), offsets.data(), offsets.bytes(), cudaMemcpyHostToDevice, stream_));
    expect(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_;
};

/// The columns are ready in the order of `stream`.
std::vector<DeviceColumn> uploadTable(const std::vector<HostColumn>& columns, PinnedPool& pool, cudaStream_t stream) {
  ColumnUploader uploader(pool, stream);
  std::vector<DeviceColumn> table;
  table.reserve(columns.size());
  for (const auto& column : columns) table.push_back(std::visit(uploader, column));
  return table;
}

}  // namespace telemetry
