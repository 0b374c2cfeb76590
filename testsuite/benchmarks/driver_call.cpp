// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What driver calls cost on the thread that makes them. Run plain and under the recorder, the difference is the
// recorder's cost; suite/benchmarks.py does that, in pairs.
//
// Six kinds of call, in small timed batches, interleaved so that a change of clock speed meets all of them:
//   record, wait   cuEventRecord, cuStreamWaitEvent: the cheapest calls that enqueue, where added time shows best
//   launch         cuLaunchKernel of an empty kernel with two pointer arguments
//   fill           cuMemsetD8Async of 256 bytes
//   query          cuStreamQuery of an idle stream
//   copy           cuMemcpyHtoDAsync of a page of pinned memory, each page once in a batch
// A batch is much shorter than the launch queue and followed by an untimed synchronisation, so no call waits for the
// GPU. The calls are made below twelve nested functions: with stacks on, the unwinder has a stack of usual depth to
// walk.
//
// Prints {"record": ns, ...}: for each kind the median over the batches of the time for one call. Nothing is computed,
// so it means the same on the null driver, where only the added time is of interest.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr int kBatch = 100;
constexpr int kDepth = 12;
constexpr char kKernel[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry touch(.param .u64 first, .param .u64 second, .param .u32 count) { ret; }
)";

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "driver_call: %s failed: %d\n", call, static_cast<int>(result));
  std::exit(2);
}
#define CHECK(call) check((call), #call)

struct Kind {
  const char* name;
  std::function<CUresult()> call;
  std::vector<double> ns;
};

double time_batch(const std::function<CUresult()>& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) CHECK(call());
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / kBatch;
}

[[gnu::noinline]] double time_below(int depth, const std::function<CUresult()>& call) {
  if (depth == 0) return time_batch(call);
  const double result = time_below(depth - 1, call);
  asm volatile("" ::: "memory");  // keeps the frame: no tail call
  return result;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (batches < 1) return 2;
  CHECK(cuInit(0));
  CUdevice device;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, kKernel));
  CUfunction touch;
  CHECK(cuModuleGetFunction(&touch, module, "touch"));
  CUstream first, second;
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CUevent event;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr a, b;
  CHECK(cuMemAlloc(&a, 1 << 20));
  CHECK(cuMemAlloc(&b, 1 << 20));
  constexpr std::size_t kPage = 4096;
  void* pages = nullptr;
  CHECK(cuMemAllocHost(&pages, kBatch * kPage));
  unsigned page = 0;
  unsigned count = 1024;
  void* arguments[] = {&a, &b, &count};

  Kind kinds[] = {
      {"record", [&] { return cuEventRecord(event, first); }, {}},
      {"wait", [&] { return cuStreamWaitEvent(second, event, CU_EVENT_WAIT_DEFAULT); }, {}},
      {"launch", [&] { return cuLaunchKernel(touch, 1, 1, 1, 32, 1, 1, 0, first, arguments, nullptr); }, {}},
      {"fill", [&] { return cuMemsetD8Async(b, 0, 256, second); }, {}},
      {"query", [&] { return cuStreamQuery(first); }, {}},
      {"copy",
       [&] {
         page = (page + 1) % kBatch;
         return cuMemcpyHtoDAsync(a, static_cast<char*>(pages) + page * kPage, kPage, first);
       },
       {}},
  };
  constexpr int kWarmUp = 10;
  for (int batch = -kWarmUp; batch < batches; ++batch) {
    for (Kind& kind : kinds) {
      const double ns = time_below(kDepth, kind.call);
      if (batch >= 0) kind.ns.push_back(ns);
      CHECK(cuCtxSynchronize());
    }
  }
  const char* separator = "{";
  for (Kind& kind : kinds) {
    std::printf("%s\"%s\": %.1f", separator, kind.name, median(kind.ns));
    separator = ", ";
  }
  std::printf("}\n");
  return 0;
}
