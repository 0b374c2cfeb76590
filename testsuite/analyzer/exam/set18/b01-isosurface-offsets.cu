// Stream compaction stage of an isosurface extractor: classify cells, turn the
// per-cell triangle counts into write offsets, emit packed vertices.
#include <cuda_runtime.h>
#include <cub/device/device_scan.cuh>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#define ISO_CHECK(expr)                                                          \
  do {                                                                           \
    cudaError_t iso_err_ = (expr);                                               \
    if (iso_err_ != cudaSuccess)                                                 \
      throw std::runtime_error(std::string(#expr ": ") + cudaGetErrorString(iso_err_)); \
  } while (0)

namespace iso {

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(size_t n) : size_(n) { ISO_CHECK(cudaMalloc(&ptr_, n * sizeof(T))); }
  DeviceArray(DeviceArray&& o) noexcept { swap(o); }
  DeviceArray& operator=(DeviceArray&& o) noexcept { swap(o); return *this; }
  ~DeviceArray() { cudaFree(ptr_); }
  void swap(DeviceArray& o) { std::swap(ptr_, o.ptr_); std::swap(size_, o.size_); }
  T* get() const { return ptr_; }
  size_t size() const { return size_; }

 private:
  T* ptr_ = nullptr;
  size_t size_ = 0;
};

__global__ void classifyCells(const float* field, float level, int n, uint32_t* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool a = field[i] > level;
  bool b = field[i + 1] > level;
  counts[i] = (a != b) ? 2u : 0u;
}

__global__ void emitVertices(const float* field, const uint32_t* counts, const uint32_t* offsets,
                             float level, int n, float* vertices, uint32_t capacity) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || counts[i] == 0) return;
  float t = (level - field[i]) / (field[i + 1] - field[i]);
  for (uint32_t k = 0; k < counts[i]; ++k) {
    uint32_t slot = offsets[i] + k;
    if (slot < capacity) vertices[slot] = static_cast<float>(i) + t;
  }
}

// Owns the temporary storage of the prefix sums; one planner per extractor.
class OffsetPlanner {
 public:
  explicit OffsetPlanner(int cells) : cells_(cells) {
    size_t bytes = 0;
    ISO_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const uint32_t*>(nullptr),
                                            static_cast<uint32_t*>(nullptr), cells_));
    temp_ = DeviceArray<char>(bytes);
  }

  void exclusive(const uint32_t* counts, uint32_t* offsets, cudaStream_t stream = nullptr) {
    size_t bytes = temp_.size();
    ISO_CHECK(cub::DeviceScan::ExclusiveSum(temp_.get(), bytes, counts, offsets, cells_, stream));
  }

 private:
  int cells_;
  DeviceArray<char> temp_;
};

class SurfaceExtractor {
 public:
  explicit SurfaceExtractor(int cells)
      : cells_(cells), counts_(cells), offsets_(cells), planner_(cells) {
    ISO_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~SurfaceExtractor() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  SurfaceExtractor(const SurfaceExtractor&) = delete;
  SurfaceExtractor& operator=(const SurfaceExtractor&) = delete;

  // `field` holds cells+1 samples already resident on the device and not
  // written by anybody during the call. Blocks until the vertices are there.
  void extract(const float* field, float level, float* vertices, uint32_t capacity) {
    classify(field, level);
    planner_.exclusive(counts_.get(), offsets_.get());
    emit(field, level, vertices, capacity);
    ISO_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  static constexpr int kBlock = 256;
  int grid() const { return (cells_ + kBlock - 1) / kBlock; }

  void classify(const float* field, float level) {
    classifyCells<<<grid(), kBlock, 0, stream_>>>(field, level, cells_, counts_.get());
    ISO_CHECK(cudaGetLastError());
  }

  void emit(const float* field, float level, float* vertices, uint32_t capacity) {
    emitVertices<<<grid(), kBlock, 0, stream_>>>(field, counts_.get(), offsets_.get(), level, cells_,
                                                 vertices, capacity);
    ISO_CHECK(cudaGetLastError());
  }

  int cells_;
  cudaStream_t stream_ = nullptr;
  DeviceArray<uint32_t> counts_;
  DeviceArray<uint32_t> offsets_;
  OffsetPlanner planner_;
};

}  // namespace iso
