// Device-side seed table for a read mapper.  The table lives in one virtual range that is backed by
// 2 MiB-granular physical chunks, so it can grow and shrink without changing its address.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace seedmap {

inline void check(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(r, &text);
  throw std::runtime_error(std::string(what) + ": " + (text ? text : "unknown"));
}
#define DRV(call) ::seedmap::check((call), #call)

class ChunkedRange {
 public:
  ChunkedRange(CUdevice device, size_t maxBytes) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    DRV(cuMemGetAllocationGranularity(&chunk_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    reserved_ = (maxBytes + chunk_ - 1) / chunk_ * chunk_;
    DRV(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
  }

  ~ChunkedRange() {
    trimTo(0);
    cuMemAddressFree(base_, reserved_);
  }

  ChunkedRange(const ChunkedRange&) = delete;
  ChunkedRange& operator=(const ChunkedRange&) = delete;

  void growTo(size_t bytes) {
    while (mapped() < bytes) {
      CUmemGenericAllocationHandle handle;
      DRV(cuMemCreate(&handle, chunk_, &prop_, 0));
      CUdeviceptr at = base_ + mapped();
      DRV(cuMemMap(at, chunk_, 0, handle, 0));
      CUmemAccessDesc access{};
      access.location = prop_.location;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      DRV(cuMemSetAccess(at, chunk_, &access, 1));
      handles_.push_back(handle);
    }
  }

  void trimTo(size_t bytes) {
    const size_t keep = (bytes + chunk_ - 1) / chunk_;
    while (handles_.size() > keep) {
      CUdeviceptr at = base_ + (handles_.size() - 1) * chunk_;
      cuMemUnmap(at, chunk_);
      cuMemRelease(handles_.back());
      handles_.pop_back();
    }
  }

  CUdeviceptr base() const { return base_; }
  size_t mapped() const { return handles_.size() * chunk_; }

 private:
  CUmemAllocationProp prop_{};
  CUdeviceptr base_ = 0;
  size_t chunk_ = 0;
  size_t reserved_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

class SeedTable {
 public:
  SeedTable(CUdevice device, size_t maxBuckets) : range_(device, maxBuckets * 2 * kBucketBytes) {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  ~SeedTable() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }

  SeedTable(const SeedTable&) = delete;
  SeedTable& operator=(const SeedTable&) = delete;

  // Makes room for `buckets` and clears them.
  void open(size_t buckets) {
    range_.growTo(buckets * kBucketBytes);
    DRV(cuMemsetD32Async(range_.base(), 0xffffffffu, buckets * kBucketBytes / 4, stream_));
    buckets_ = buckets;
  }

  // Appends packed seeds of one reference contig behind the live buckets.
  void stage(CUdeviceptr packed, size_t buckets) {
    range_.growTo((buckets_ + buckets) * kBucketBytes);
    DRV(cuMemcpyDtoDAsync(range_.base() + buckets_ * kBucketBytes, packed, buckets * kBucketBytes, stream_));
    staged_ = buckets;
  }

  // Replaces the live buckets by the staged ones and gives the unused tail back to the device.
  void adoptStaged() {
    if (staged_ == 0 || staged_ > buckets_) throw std::logic_error("nothing to adopt");
    DRV(cuMemcpyDtoDAsync(range_.base(), range_.base() + buckets_ * kBucketBytes, staged_ * kBucketBytes, stream_));
    buckets_ = staged_;
    staged_ = 0;
    DRV(cuStreamSynchronize(stream_));
    range_.trimTo(buckets_ * kBucketBytes);
  }

  size_t buckets() const { return buckets_; }
  CUstream stream() const { return stream_; }

 private:
  static constexpr size_t kBucketBytes = 64 * 1024;

  ChunkedRange range_;
  CUstream stream_{};
  size_t buckets_ = 0;
  size_t staged_ = 0;
};

// Rebuilds the table for a new reference: old contig out, new contig in.
void swapReference(SeedTable& table, CUdeviceptr packedContig, size_t buckets) {
  table.stage(packedContig, buckets);
  table.adoptStaged();
}

}  // namespace seedmap
