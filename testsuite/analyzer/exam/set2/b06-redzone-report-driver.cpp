// Checks guard words around sub-allocations with the driver API.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace autotune {

struct GuardedBuffer {
  CUdeviceptr lhs_zone;
  CUdeviceptr rhs_zone;
  size_t zone_words;
};

struct Violation {
  size_t buffer_index;
  uint32_t mismatches;
};

class PinnedWords {
 public:
  explicit PinnedWords(size_t n) {
    void* p = nullptr;
    if (cuMemHostAlloc(&p, n * sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS) {
      host_ = static_cast<uint32_t*>(p);
      cuMemHostGetDevicePointer(&dev_, p, 0);
    }
  }
  ~PinnedWords() {
    if (host_ != nullptr) cuMemFreeHost(host_);
  }
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;

  bool ok() const { return host_ != nullptr; }
  uint32_t* host() { return host_; }
  CUdeviceptr device() const { return dev_; }

 private:
  uint32_t* host_ = nullptr;
  CUdeviceptr dev_ = 0;
};

static CUresult LaunchCompare(CUfunction fn, CUdeviceptr zone, size_t words, uint32_t pattern,
                              CUdeviceptr counter, CUstream stream) {
  void* params[] = {&zone, &words, &pattern, &counter};
  unsigned grid = static_cast<unsigned>((words + 255) / 256);
  return cuLaunchKernel(fn, grid, 1, 1, 256, 1, 1, 0, stream, params, nullptr);
}

CUresult CheckRedzones(CUfunction compare_fn, const std::vector<GuardedBuffer>& buffers,
                       uint32_t pattern, CUstream stream, std::optional<Violation>* found) {
  PinnedWords report(2);
  if (!report.ok()) return CUDA_ERROR_OUT_OF_MEMORY;
  found->reset();

  CUresult rc = cuMemsetD32Async(report.device(), 0, 2, stream);
  if (rc != CUDA_SUCCESS) return rc;

  for (size_t i = 0; i < buffers.size(); ++i) {
    const GuardedBuffer& b = buffers[i];
    rc = LaunchCompare(compare_fn, b.lhs_zone, b.zone_words, pattern, report.device(), stream);
    CUresult rc2 = LaunchCompare(compare_fn, b.rhs_zone, b.zone_words, pattern,
                                 report.device() + sizeof(uint32_t), stream);
    CUresult rc3 = cuStreamSynchronize(stream);
    if (rc != CUDA_SUCCESS) return rc;
    if (rc2 != CUDA_SUCCESS) return rc2;
    if (rc3 != CUDA_SUCCESS) return rc3;
    uint32_t bad = report.host()[0] + report.host()[1];
    if (bad != 0) {
      *found = Violation{i, bad};
      return CUDA_SUCCESS;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace autotune
