// Column store: decodes run-length encoded row groups on the host and uploads all columns in one batch.
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colstore {

struct Error : std::runtime_error {
  Error(cudaError_t e, const char* where) : std::runtime_error(std::string(where) + " -> " + cudaGetErrorString(e)) {}
};

inline void ensure(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw Error(e, where);
}

struct Run {
  std::int32_t value;
  std::uint32_t length;
};

struct EncodedColumn {
  std::vector<Run> runs;
};

using RowGroup = std::vector<EncodedColumn>;

class DeviceColumn {
 public:
  explicit DeviceColumn(std::size_t rows) : rows_(rows) { ensure(cudaMalloc(&data_, rows * sizeof(std::int32_t)), "column"); }
  ~DeviceColumn() { cudaFree(data_); }
  DeviceColumn(const DeviceColumn&) = delete;
  DeviceColumn& operator=(const DeviceColumn&) = delete;
  std::int32_t* data() const { return data_; }
  std::size_t rows() const { return rows_; }

 private:
  std::int32_t* data_ = nullptr;
  std::size_t rows_;
};

using DeviceTable = std::vector<std::unique_ptr<DeviceColumn>>;

std::vector<std::int32_t> decode(const EncodedColumn& column) {
  std::vector<std::int32_t> plain;
  for (const Run& r : column.runs) plain.insert(plain.end(), r.length, r.value);
  return plain;
}

// Collects the copies of one row group and submits them together.
class CopyBatch {
 public:
  void add(void* dst, const void* src, std::size_t bytes) {
    if (bytes == 0) return;
    dsts_.push_back(dst);
    srcs_.push_back(src);
    sizes_.push_back(bytes);
  }

  void submit(cudaStream_t stream) {
    if (dsts_.empty()) return;
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    std::size_t first = 0;
    ensure(cudaMemcpyBatchAsync(dsts_.data(), srcs_.data(), sizes_.data(), dsts_.size(), &attributes, &first, 1, stream),
           "row group upload");
  }

 private:
  std::vector<void*> dsts_;
  std::vector<const void*> srcs_;
  std::vector<std::size_t> sizes_;
};

__global__ void masked_sum(const std::int32_t* filter, const std::int32_t* values, std::int32_t key, long long* sum, int rows) {
  long long acc = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)
    if (filter[i] == key) acc += values[i];
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(acc));
}

class Loader {
 public:
  Loader() { ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Loader() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  cudaStream_t stream() const { return stream_; }

  // Contents are valid in stream order.
  DeviceTable load(const RowGroup& group) {
    DeviceTable table;
    std::vector<std::vector<std::int32_t>> plain;
    plain.reserve(group.size());
    CopyBatch batch;
    for (const EncodedColumn& column : group) {
      plain.push_back(decode(column));
      table.push_back(std::make_unique<DeviceColumn>(plain.back().size()));
      batch.add(table.back()->data(), plain.back().data(), plain.back().size() * sizeof(std::int32_t));
    }
    batch.submit(stream_);
    return table;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

// SELECT sum(c1) WHERE c0 = key
long long sum_where(const std::vector<RowGroup>& groups, std::int32_t key) {
  Loader loader;
  long long* device_sum = nullptr;
  long long* host_sum = nullptr;
  ensure(cudaMalloc(&device_sum, sizeof(long long)), "sum");
  ensure(cudaMallocHost(&host_sum, sizeof(long long)), "sum");
  ensure(cudaMemsetAsync(device_sum, 0, sizeof(long long), loader.stream()), "sum");

  std::vector<DeviceTable> resident;
  for (const RowGroup& group : groups) {
    resident.push_back(loader.load(group));
    const DeviceTable& t = resident.back();
    masked_sum<<<64, 256, 0, loader.stream()>>>(t[0]->data(), t[1]->data(), key, device_sum, int(t[0]->rows()));
  }
  ensure(cudaMemcpyAsync(host_sum, device_sum, sizeof(long long), cudaMemcpyDeviceToHost, loader.stream()), "sum");
  ensure(cudaStreamSynchronize(loader.stream()), "sum");
  const long long result = *host_sum;
  cudaFreeHost(host_sum);
  cudaFree(device_sum);
  return result;
}

}  // namespace colstore
