// Virtual-memory arena of the column store: a column keeps its address while
// physical pages are mapped behind it and returned when the column shrinks.
#include <cuda.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colstore {

inline void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* msg = nullptr;
  cuGetErrorString(r, &msg);
  throw std::runtime_error(std::string(what) + ": " + (msg ? msg : "unknown"));
}
#define DRV(x) ::colstore::drv((x), #x)

struct Page {
  CUmemGenericAllocationHandle handle;
};

class Arena {
 public:
  Arena(int device, size_t reserve) : device_(device) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    DRV(cuMemGetAllocationGranularity(&page_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    reserved_ = (reserve + page_ - 1) / page_ * page_;
    DRV(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
  }
  ~Arena() {
    cuCtxSynchronize();
    shrink(0);
    cuMemAddressFree(base_, reserved_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr base() const { return base_; }
  size_t mapped() const { return pages_.size() * page_; }

  void grow(size_t bytes) {
    while (mapped() < bytes) {
      Page p{};
      DRV(cuMemCreate(&p.handle, page_, &prop_, 0));
      const CUdeviceptr at = base_ + mapped();
      DRV(cuMemMap(at, page_, 0, p.handle, 0));
      CUmemAccessDesc access{};
      access.location = prop_.location;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      DRV(cuMemSetAccess(at, page_, &access, 1));
      pages_.push_back(p);
    }
  }

  void shrink(size_t bytes) {
    const size_t keep = (bytes + page_ - 1) / page_;
    while (pages_.size() > keep) {
      const CUdeviceptr at = base_ + (pages_.size() - 1) * page_;
      DRV(cuMemUnmap(at, page_));
      DRV(cuMemRelease(pages_.back().handle));
      pages_.pop_back();
    }
  }

 private:
  int device_;
  CUmemAllocationProp prop_{};
  size_t page_ = 0;
  size_t reserved_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<Page> pages_;
};

// Kernels of the storage engine, loaded from the engine's module.
struct Kernels {
  CUfunction filter;
  CUfunction compact;
};

class Column {
 public:
  Column(int device, size_t maxRows, Kernels k) : arena_(device, maxRows * sizeof(int64_t)), k_(k) {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~Column() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }

  void append(const int64_t* pinned, size_t rows) {
    arena_.grow((rows_ + rows) * sizeof(int64_t));
    DRV(cuMemcpyHtoDAsync(arena_.base() + rows_ * sizeof(int64_t), pinned, rows * sizeof(int64_t),
                          stream_));
    rows_ += rows;
  }

  // Moves the rows that pass the predicate to the front; `kept` is known from
  // the zone map of the column.
  void retain(int64_t low, int64_t high, size_t kept) {
    CUdeviceptr data = arena_.base();
    size_t n = rows_;
    void* args[] = {&data, &n, &low, &high};
    DRV(cuLaunchKernel(k_.filter, static_cast<unsigned>((n + 255) / 256), 1, 1, 256, 1, 1, 0, stream_, args,
                       nullptr));
    void* cargs[] = {&data, &n};
    DRV(cuLaunchKernel(k_.compact, 1, 1, 1, 1024, 1, 1, 0, stream_, cargs, nullptr));
    rows_ = kept;
  }

  // Gives pages beyond the last row back to the device.
  void trim() {
    const size_t bytes = rows_ * sizeof(int64_t);
    if (bytes < arena_.mapped()) arena_.shrink(bytes);
  }

  void sync() { DRV(cuStreamSynchronize(stream_)); }

 private:
  Arena arena_;
  Kernels k_;
  CUstream stream_ = nullptr;
  size_t rows_ = 0;
};

struct Range {
  int64_t low;
  int64_t high;
  size_t kept;
};

void vacuum(Column& column, const std::vector<Range>& ranges) {
  for (const Range& r : ranges) {
    column.retain(r.low, r.high, r.kept);
    column.trim();
  }
  column.sync();
}

}  // namespace colstore
