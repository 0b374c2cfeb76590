// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The referee of the coverage tests: NVIDIA's own profiling interface counts the driver calls of a process.
//
// The driver loads this library in cuInit (CUDA_INJECTION64_PATH). For each driver function it counts the calls that
// returned CUDA_SUCCESS, which is what the recorder writes down too, into a file mapped shared: name and number, one
// entry for each callback id (suite/coverage.py reads it). The pages belong to the file, so the counts are complete
// however the process ends. The file is $STREAMSAN_CUPTI_COUNTS followed by ".PID".
//
// CUPTI counts what is called through the driver's public entry points, by whatever way the caller found them; calls
// the driver makes to itself do not appear. It sees nothing from before cuInit, when nothing of interest can be called.
#include <cupti.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Entry {
  char name[56];
  std::atomic<std::uint64_t> calls;
};
static_assert(sizeof(Entry) == 64);
constexpr std::size_t kEntries = 4096;

Entry* entries = nullptr;

void on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_EXIT || id >= kEntries) return;
  if (*static_cast<const CUresult*>(call->functionReturnValue) != CUDA_SUCCESS) return;
  Entry& entry = entries[id];
  if (entry.calls.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::strncpy(entry.name, call->functionName, sizeof(entry.name) - 1);
  }
}

bool map_file() {
  const char* base = std::getenv("STREAMSAN_CUPTI_COUNTS");
  if (base == nullptr) return false;
  char path[4096];
  std::snprintf(path, sizeof(path), "%s.%d", base, static_cast<int>(getpid()));
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || ftruncate(file, kEntries * sizeof(Entry)) != 0) return false;
  void* mapped = mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return false;
  entries = static_cast<Entry*>(mapped);
  return true;
}

}  // namespace

extern "C" int InitializeInjection() {
  static CUpti_SubscriberHandle subscriber;
  if (!map_file()) {
    std::fprintf(stderr, "cupti_counts: no file for the counts (STREAMSAN_CUPTI_COUNTS)\n");
    return 0;
  }
  CUptiResult result = cuptiSubscribe(&subscriber, on_call, nullptr);
  if (result == CUPTI_SUCCESS) result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (result != CUPTI_SUCCESS) std::fprintf(stderr, "cupti_counts: CUPTI error %d\n", static_cast<int>(result));
  return result == CUPTI_SUCCESS ? 1 : 0;
}
