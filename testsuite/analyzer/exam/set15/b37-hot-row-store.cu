// Hot rows of an embedding table in a growable range of device addresses. Physical chunks are mapped behind the last row when the
// cache grows and are given back to the system when traffic drops.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotrows {

inline void drv(CUresult rc, const char* what) {
  if (rc != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + " returned " + std::to_string(rc));
}
#define HR_DRV(call) ::hotrows::drv((call), #call)

__global__ void gather_rows(const float* rows, const int* ids, float* out, int count, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * width) out[i] = rows[static_cast<size_t>(ids[i / width]) * width + i % width];
}

__global__ void store_rows(float* rows, const float* fresh, int first, int count, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * width) rows[static_cast<size_t>(first) * width + i] = fresh[i];
}

class GrowableRange {
 public:
  GrowableRange(int device, std::size_t max_bytes) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    HR_DRV(cuMemGetAllocationGranularity(&chunk_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    reserved_ = (max_bytes + chunk_ - 1) / chunk_ * chunk_;
    HR_DRV(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
  }
  ~GrowableRange() {
    cudaDeviceSynchronize();
    while (!chunks_.empty()) pop_chunk();
    cuMemAddressFree(base_, reserved_);
  }
  GrowableRange(const GrowableRange&) = delete;
  GrowableRange& operator=(const GrowableRange&) = delete;

  void resize(std::size_t bytes) {
    const std::size_t wanted = (bytes + chunk_ - 1) / chunk_;
    if (wanted * chunk_ > reserved_) throw std::length_error("hot row range");
    while (chunks_.size() < wanted) push_chunk();
    while (chunks_.size() > wanted) pop_chunk();
  }

  float* data() const { return reinterpret_cast<float*>(base_); }

 private:
  void push_chunk() {
    CUmemGenericAllocationHandle handle;
    HR_DRV(cuMemCreate(&handle, chunk_, &prop_, 0));
    const CUdeviceptr at = base_ + chunks_.size() * chunk_;
    HR_DRV(cuMemMap(at, chunk_, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    HR_DRV(cuMemSetAccess(at, chunk_, &access, 1));
    chunks_.push_back(handle);
  }

  void pop_chunk() {
    const CUdeviceptr at = base_ + (chunks_.size() - 1) * chunk_;
    HR_DRV(cuMemUnmap(at, chunk_));
    HR_DRV(cuMemRelease(chunks_.back()));
    chunks_.pop_back();
  }

  CUmemAllocationProp prop_ = {};
  std::size_t chunk_ = 0;
  std::size_t reserved_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<CUmemGenericAllocationHandle> chunks_;
};

class HotRowStore {
 public:
  HotRowStore(int device, int width, int max_rows)
      : width_(width), range_(device, sizeof(float) * static_cast<std::size_t>(width) * max_rows) {
    if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) throw std::runtime_error("stream");
  }
  ~HotRowStore() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  HotRowStore(const HotRowStore&) = delete;
  HotRowStore& operator=(const HotRowStore&) = delete;

  // fresh: device memory of count rows, complete.
  void append(const float* fresh, int count) {
    range_.resize(bytes_for(rows_ + count));
    store_rows<<<blocks(count), 256, 0, stream_>>>(range_.data(), fresh, rows_, count, width_);
    check_launch();
    rows_ += count;
  }

  // ids and out are device memory; ids must be below rows().
  void lookup(const int* ids, float* out, int count) {
    gather_rows<<<blocks(count), 256, 0, stream_>>>(range_.data(), ids, out, count, width_);
    check_launch();
  }

  // Keeps the first rows only; later lookups may not use the others.
  void trim(int rows) {
    if (rows >= rows_) return;
    range_.resize(bytes_for(rows));
    rows_ = rows;
  }

  void wait() {
    if (cudaStreamSynchronize(stream_) != cudaSuccess) throw std::runtime_error("wait");
  }

  int rows() const { return rows_; }

 private:
  std::size_t bytes_for(int rows) const { return sizeof(float) * static_cast<std::size_t>(width_) * rows; }
  int blocks(int count) const { return (count * width_ + 255) / 256; }
  static void check_launch() {
    if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("launch");
  }

  int width_;
  int rows_ = 0;
  GrowableRange range_;
  cudaStream_t stream_ = nullptr;
};

// One batch of requests at the end of the peak hour.
void serve_and_trim(HotRowStore& store, const int* ids, float* out, int count, int keep) {
  store.lookup(ids, out, count);
  store.trim(keep);
  store.wait();
}

}  // namespace hotrows
