// A device vector in reserved address space. It grows in place, while kernels still work on the
// part that exists, and gives pages back only when the last user is done.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define VM_CHECK(call)                                                                    \
  do {                                                                                    \
    const CUresult r_ = (call);                                                           \
    if (r_ != CUDA_SUCCESS)                                                               \
      throw std::runtime_error(std::string(#call ": CUresult ") + std::to_string(int(r_))); \
  } while (0)

namespace growable {

__global__ void appendRamp(float* data, size_t begin, size_t count, float first) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) data[begin + i] = first + float(i);
}

__global__ void prefixMax(const float* data, size_t count, int* result) {
  int m = 0;
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) m = max(m, int(data[i]));
  atomicMax(result, m);
}

class PagedBuffer {
 public:
  PagedBuffer(int device, size_t maxBytes) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    VM_CHECK(cuMemGetAllocationGranularity(&page_, &prop_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    reserved_ = (maxBytes + page_ - 1) / page_ * page_;
    VM_CHECK(cuMemAddressReserve(&base_, reserved_, 0, 0, 0));
  }
  PagedBuffer(const PagedBuffer&) = delete;
  ~PagedBuffer() {
    while (!pages_.empty()) popPage();
    cuMemAddressFree(base_, reserved_);
  }

  CUdeviceptr base() const { return base_; }
  size_t bytes() const { return pages_.size() * page_; }

  void grow(size_t bytesWanted) {
    if (bytesWanted > reserved_) throw std::length_error("address space exhausted");
    while (bytes() < bytesWanted) pushPage();
  }
  // The caller sees to it that nothing uses what lies beyond `bytesKept`.
  void shrink(size_t bytesKept) {
    while (!pages_.empty() && bytes() - page_ >= bytesKept) popPage();
  }

 private:
  void pushPage() {
    CUmemGenericAllocationHandle h = 0;
    VM_CHECK(cuMemCreate(&h, page_, &prop_, 0));
    const CUdeviceptr at = base_ + bytes();
    VM_CHECK(cuMemMap(at, page_, 0, h, 0));
    CUmemAccessDesc access = {};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    VM_CHECK(cuMemSetAccess(at, page_, &access, 1));
    pages_.push_back(h);
  }
  void popPage() {
    cuMemUnmap(base_ + bytes() - page_, page_);
    cuMemRelease(pages_.back());
    pages_.pop_back();
  }

  CUmemAllocationProp prop_ = {};
  size_t page_ = 0, reserved_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<CUmemGenericAllocationHandle> pages_;
};

class SampleStore {
 public:
  SampleStore(int device, size_t maxSamples) : memory_(device, maxSamples * sizeof(float)) {
    VM_CHECK(cuStreamCreate(&writer_, CU_STREAM_NON_BLOCKING));
    VM_CHECK(cuStreamCreate(&reader_, CU_STREAM_NON_BLOCKING));
    VM_CHECK(cuEventCreate(&written_, CU_EVENT_DISABLE_TIMING));
    VM_CHECK(cuEventCreate(&read_, CU_EVENT_DISABLE_TIMING));
    VM_CHECK(cuMemAlloc(&max_, sizeof(int)));
  }
  SampleStore(const SampleStore&) = delete;
  ~SampleStore() {
    drain();
    cuMemFree(max_);
    for (CUevent e : {written_, read_}) cuEventDestroy(e);
    for (CUstream s : {writer_, reader_}) cuStreamDestroy(s);
  }

  void append(size_t count, float first) {
    if (count == 0) return;
    memory_.grow((size_ + count) * sizeof(float));
    VM_CHECK(cuStreamWaitEvent(writer_, read_, 0));  // cells may be in use that truncate() gave up
    appendRamp<<<unsigned((count + 255) / 256), 256, 0, writer_>>>(data(), size_, count, first);
    VM_CHECK(cuEventRecord(written_, writer_));
    size_ += count;
  }

  // Starts the maximum of what has been appended so far.
  void startMax() {
    VM_CHECK(cuStreamWaitEvent(reader_, written_, 0));
    VM_CHECK(cuMemsetD32Async(max_, 0, 1, reader_));
    prefixMax<<<1, 256, 0, reader_>>>(data(), size_, reinterpret_cast<int*>(max_));
    VM_CHECK(cuEventRecord(read_, reader_));
  }

  int finishMax() {
    int host = 0;
    VM_CHECK(cuMemcpyDtoHAsync(&host, max_, sizeof(host), reader_));
    VM_CHECK(cuStreamSynchronize(reader_));
    return host;
  }

  void truncate(size_t samples, bool trim) {
    size_ = std::min(size_, samples);
    if (!trim) return;
    drain();
    memory_.shrink(size_ * sizeof(float));
  }

 private:
  float* data() const { return reinterpret_cast<float*>(memory_.base()); }
  void drain() {
    cuEventSynchronize(written_);
    cuEventSynchronize(read_);
  }

  PagedBuffer memory_;
  CUstream writer_ = nullptr, reader_ = nullptr;
  CUevent written_ = nullptr, read_ = nullptr;
  CUdeviceptr max_ = 0;
  size_t size_ = 0;
};

}  // namespace growable

int main() {
  if (cudaSetDevice(0) != cudaSuccess) return 1;
  growable::SampleStore store(0, size_t(1) << 26);
  for (int round = 0; round < 32; ++round) {
    store.append(1 << 20, float(round));
    store.startMax();
    store.append(1 << 18, 0.5f * round);
    if (store.finishMax() < 0) return 1;
    if (round % 4 == 3) store.truncate(size_t(1) << 19, /*trim=*/true);
  }
  return 0;
}
