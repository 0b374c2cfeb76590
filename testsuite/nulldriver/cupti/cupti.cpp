// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcupti.so for the null driver: the functions that interposer/timings asks CUPTI for, over a device that exists in
// thought only (device.h). Calls are announced and buffers handed out as by the real one; records of operations that
// are still under way at a forced flush have no times, as there.
//
// STREAMSAN_NULL_CUPTI names what goes wrong, separated by commas:
//   taken       another tool has subscribed
//   refused     subscribing fails for a reason of its own
//   no-calls    no call of the driver can be announced
//   no-kernels  activity of kernels cannot be recorded
//   own-clock   times are of a clock of CUPTI's, 1000 s ahead (before CUDA 11.6)
//   dropped     three records were dropped for want of memory
//   hangs       the last flush never returns
// It serves one subscriber. In the child of a fork it is deaf.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "interposer/timings/cupti_abi.h"
#include "ordering/api/row.h"
#include "testsuite/nulldriver/cupti/device.h"
#include "testsuite/nulldriver/listener.h"

#define SS_CUPTI extern "C" __attribute__((visibility("default"))) streamsan::cupti::Result

namespace streamsan::nullcupti {
namespace {

constexpr cupti::Result kInvalid = 1;
constexpr cupti::Result kNotSupported = 27;
constexpr cupti::Result kRefused = 15;
constexpr std::uint64_t kAhead = 1'000'000'000'000;

bool wrong(std::string_view what) {
  const char* variable = std::getenv("STREAMSAN_NULL_CUPTI");
  const std::string list = "," + std::string(variable ? variable : "") + ",";
  return list.find("," + std::string(what) + ",") != std::string::npos;
}

/// Leaked: calls and flushes may come after the destructors of the program.
Device& device() {
  static Device& made = *new Device;
  return made;
}

std::atomic<bool> g_deaf{false};
cupti::CallbackFunction g_callback = nullptr;
void* g_data = nullptr;
cupti::BufferRequested g_requested = nullptr;
cupti::BufferCompleted g_completed = nullptr;
cupti::Timestamp g_timestamp = nullptr;
bool g_enabled[api::kRowCount + 1];
std::atomic<unsigned> g_dropped{0};

Activity activity_of(std::string_view symbol) {
  if (symbol.starts_with("cuLaunch")) return Activity::Kernel;
  if (symbol.starts_with("cuMemcpy")) return Activity::Memcpy;
  if (symbol.starts_with("cuMemset")) return Activity::Memset;
  return symbol.starts_with("cuGraphLaunch") ? Activity::Graph : Activity::None;
}

void called(const char* symbol, unsigned row, std::uint32_t number) {
  if (g_deaf || !g_callback || !g_enabled[row]) return;
  cupti::CallbackData data{};
  data.function = symbol;
  data.correlation_id = number;
  for (std::uint32_t site : {cupti::kSiteEnter, cupti::kSiteEnter + 1}) {  // nothing happens in between that counts
    data.site = site;
    g_callback(g_data, cupti::kDomainDriver, row + 1, &data);
  }
}

void submitted(const char* symbol, std::uint32_t number, const void* stream) {
  if (!g_deaf) device().submit(activity_of(symbol), number, stream);
}

void waits() {
  if (!g_deaf) device().wait();
}

constexpr StreamSanNullListener kListener = {called, submitted, waits};

/// A record as CUPTI lays it out, as far as anybody reads it.
struct Shape {
  std::uint32_t kind;
  cupti::Layout layout;
  std::size_t bytes;
};
constexpr Shape kShapes[] = {{0, {}, 0},
                             {cupti::kMemcpy, cupti::kMemcpyLayout, 64},
                             {cupti::kMemset, cupti::kMemsetLayout, 56},
                             {cupti::kConcurrentKernel, cupti::kKernelLayout, 160},
                             {cupti::kGraphTrace, cupti::kGraphLayout, 40}};

const Shape* shape_of_kind(std::uint32_t kind) {
  for (const Shape& shape : kShapes) {
    if (shape.bytes && shape.kind == kind) return &shape;
  }
  return nullptr;
}

std::uint64_t reported(std::uint64_t time) { return g_timestamp ? time : time + kAhead; }

void write(std::uint8_t* at, const Shape& shape, const Operation& operation, bool timed) {
  std::memset(at, 0, shape.bytes);
  const std::uint64_t start = timed ? reported(operation.start) : 0;
  const std::uint64_t end = timed ? reported(operation.end) : 0;
  std::memcpy(at, &shape.kind, sizeof shape.kind);
  std::memcpy(at + shape.layout.start, &start, sizeof start);
  std::memcpy(at + shape.layout.end, &end, sizeof end);
  std::memcpy(at + shape.layout.correlation, &operation.number, sizeof operation.number);
}

void hand_out(bool all) {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0, used = 0;
  const std::uint64_t present = Device::now();
  auto complete = [&] {
    if (buffer) g_completed(nullptr, 0, buffer, size, used);
    buffer = nullptr;
    used = size = 0;
  };
  for (const Operation& operation : device().take(present, all)) {
    const Shape& shape = kShapes[static_cast<std::size_t>(operation.activity)];
    if (used + shape.bytes > size) {
      complete();
      g_requested(&buffer, &size, &most);
    }
    if (!buffer || size < shape.bytes) {
      ++g_dropped;
      continue;
    }
    write(buffer + used, shape, operation, operation.end <= present);
    used += shape.bytes;
  }
  complete();
}

}  // namespace
}  // namespace streamsan::nullcupti

using namespace streamsan;
using namespace streamsan::nullcupti;

SS_CUPTI cuptiSubscribe(cupti::Subscriber* subscriber, cupti::CallbackFunction function, void* data) {
  if (wrong("taken") || g_callback) return cupti::kMultipleSubscribers;
  if (wrong("refused")) return kRefused;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* listen =
      driver ? reinterpret_cast<decltype(&streamsan_null_listen)>(dlsym(driver, "streamsan_null_listen")) : nullptr;
  if (!listen) return kNotSupported;
  pthread_atfork(nullptr, nullptr, [] { g_deaf = true; });
  if (wrong("dropped")) g_dropped = 3;
  g_data = data;
  g_callback = function;
  *subscriber = &g_callback;
  listen(&kListener);
  return cupti::kSuccess;
}

SS_CUPTI cuptiUnsubscribe(cupti::Subscriber subscriber) {
  if (subscriber != &g_callback) return kInvalid;
  g_deaf = true;
  return cupti::kSuccess;
}

SS_CUPTI cuptiGetCallbackName(std::uint32_t domain, std::uint32_t id, const char** name) {
  if (domain != cupti::kDomainDriver || id == 0 || id > api::kRowCount) return kInvalid;
  *name = api::kRows[id - 1].symbol.data();
  return cupti::kSuccess;
}

SS_CUPTI cuptiEnableCallback(std::uint32_t enable, cupti::Subscriber, std::uint32_t domain, std::uint32_t id) {
  if (domain != cupti::kDomainDriver || id == 0 || id > api::kRowCount) return kInvalid;
  if (wrong("no-calls")) return kNotSupported;
  g_enabled[id - 1] = enable != 0;
  return cupti::kSuccess;
}

SS_CUPTI cuptiActivityRegisterCallbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
  g_requested = requested;
  g_completed = completed;
  return cupti::kSuccess;
}

SS_CUPTI cuptiActivityEnable(cupti::ActivityKind kind) {
  return kind == cupti::kConcurrentKernel && wrong("no-kernels") ? kNotSupported : cupti::kSuccess;
}

SS_CUPTI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record) {
  std::uint8_t* next = buffer;
  if (*record) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    const Shape* shape = shape_of_kind(kind);
    if (!shape) return kInvalid;
    next = *record + shape->bytes;
  }
  if (next >= buffer + valid) return cupti::kMaxLimitReached;
  *record = next;
  return cupti::kSuccess;
}

SS_CUPTI cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = g_dropped.exchange(0);
  return cupti::kSuccess;
}

SS_CUPTI cuptiActivityFlushAll(std::uint32_t flags) {
  const bool forced = (flags & cupti::kFlushForced) != 0;
  while (forced && wrong("hangs")) pause();
  if (!g_deaf) hand_out(forced);
  return cupti::kSuccess;
}

SS_CUPTI cuptiActivityRegisterTimestampCallback(cupti::Timestamp function) {
  if (wrong("own-clock")) return kNotSupported;
  g_timestamp = function;
  return cupti::kSuccess;
}

SS_CUPTI cuptiGetTimestamp(std::uint64_t* time) {
  *time = reported(Device::now());
  return cupti::kSuccess;
}

SS_CUPTI cuptiGetResultString(cupti::Result result, const char** text) {
  *text = result == kRefused ? "NULL_CUPTI_REFUSED" : result == kNotSupported ? "NULL_CUPTI_NOT_SUPPORTED" : nullptr;
  return *text ? cupti::kSuccess : kInvalid;
}

SS_CUPTI cuptiGetVersion(std::uint32_t* version) {
  *version = 0;
  return cupti::kSuccess;
}
