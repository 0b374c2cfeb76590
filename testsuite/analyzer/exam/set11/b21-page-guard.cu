// Verifies the guard words that the column store writes before and after every cached page.
// The checker is called by the background scrubber, once per partition.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace colstore {

#define CU_CHECK(expr)                                                          \
  do {                                                                          \
    CUresult rc_ = (expr);                                                      \
    if (rc_ != CUDA_SUCCESS) {                                                  \
      const char* msg_ = nullptr;                                               \
      cuGetErrorString(rc_, &msg_);                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, msg_); \
      std::abort();                                                             \
    }                                                                           \
  } while (0)

struct PageRef {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  std::uint32_t id = 0;
};

struct GuardReport {
  std::uint32_t pageId = 0;
  std::uint32_t badHead = 0;
  std::uint32_t badTail = 0;
};

// Page-locked words, mapped into the device's address space.
class MappedWords {
 public:
  explicit MappedWords(std::size_t count) : count_(count) {
    CU_CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&host_), count * sizeof(std::uint32_t),
                            CU_MEMHOSTALLOC_DEVICEMAP));
    CU_CHECK(cuMemHostGetDevicePointer(&device_, host_, 0));
  }
  MappedWords(const MappedWords&) = delete;
  MappedWords& operator=(const MappedWords&) = delete;
  ~MappedWords() { cuMemFreeHost(host_); }

  CUdeviceptr device() const { return device_; }
  std::uint32_t operator[](std::size_t i) const { return host_[i]; }
  std::size_t size() const { return count_; }

 private:
  std::uint32_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  std::size_t count_ = 0;
};

class GuardChecker {
 public:
  GuardChecker(CUfunction scanKernel, std::uint32_t pattern) : scan_(scanKernel), pattern_(pattern) {
    CU_CHECK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  GuardChecker(const GuardChecker&) = delete;
  GuardChecker& operator=(const GuardChecker&) = delete;
  ~GuardChecker() { cuStreamDestroy(stream_); }

  // Two counters per call: mismatches in the head guard and in the tail guard.
  std::vector<GuardReport> check(const std::vector<PageRef>& pages) {
    std::vector<GuardReport> bad;
    MappedWords counters(kCounters);
    zero(counters);
    std::uint32_t seenHead = 0;
    std::uint32_t seenTail = 0;
    for (const PageRef& page : pages) {
      scan(page, counters);
      CU_CHECK(cuStreamSynchronize(stream_));
      const std::uint32_t head = counters[0] - seenHead;
      const std::uint32_t tail = counters[1] - seenTail;
      if (head != 0 || tail != 0) bad.push_back({page.id, head, tail});
      seenHead = counters[0];
      seenTail = counters[1];
    }
    return bad;
  }

 private:
  static constexpr std::size_t kCounters = 2;
  static constexpr unsigned kGuardWords = 64;

  void zero(const MappedWords& words) {
    CU_CHECK(cuMemsetD32Async(words.device(), 0, words.size(), stream_));
  }

  void scan(const PageRef& page, const MappedWords& counters) {
    CUdeviceptr head = page.base;
    CUdeviceptr tail = page.base + page.bytes - kGuardWords * sizeof(std::uint32_t);
    CUdeviceptr out = counters.device();
    std::uint32_t pattern = pattern_;
    void* args[] = {&head, &tail, &out, &pattern};
    CU_CHECK(cuLaunchKernel(scan_, 1, 1, 1, kGuardWords, 1, 1, 0, stream_, args, nullptr));
  }

  CUfunction scan_ = nullptr;
  CUstream stream_ = nullptr;
  std::uint32_t pattern_ = 0;
};

struct Partition {
  std::string name;
  std::vector<PageRef> resident;  // pages currently cached on the device; may be none
};

// One pass over all partitions. Cold partitions have nothing resident and give no report.
std::size_t scrub(const std::vector<Partition>& partitions, CUfunction scanKernel) {
  GuardChecker checker(scanKernel, 0xC0DEFACEu);
  std::size_t broken = 0;
  for (const Partition& part : partitions) {
    for (const GuardReport& r : checker.check(part.resident)) {
      std::fprintf(stderr, "%s: page %u: %u words bad before, %u after\n", part.name.c_str(), r.pageId,
                   r.badHead, r.badTail);
      ++broken;
    }
  }
  return broken;
}

// A freshly opened table has only cold partitions.
std::size_t scrubNewTable(const std::string& table, int partitionCount, CUfunction scanKernel) {
  std::vector<Partition> parts;
  for (int i = 0; i < partitionCount; ++i) parts.push_back({table + "/" + std::to_string(i), {}});
  return scrub(parts, scanKernel);
}

}  // namespace colstore
