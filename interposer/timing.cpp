// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/timing.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "interposer/agent_host.h"
#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/host/clock_reads.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

namespace detail {
STREAMSAN_HOT_DATA constinit std::atomic<const StreamSanTimings*> g_timings{nullptr};
}

namespace {

constexpr char kTimingsName[] = "libstreamsan_timings.so";
constexpr std::uint32_t kExitPatience = 3000;  // ms

/// On whatever thread hands times out; it is none of the program's, or is inside of a call, so the record has no
/// thread.
void write_times(const StreamSanTime* times, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Slot slot = reserve(0);
    if (!slot) return;
    slot.record->kind = trace::Kind::GpuTime;
    slot.record->as<trace::Kind::GpuTime>().position = times[i].position;
    slot.record->as<trace::Kind::GpuTime>().start = times[i].start;
    slot.record->as<trace::Kind::GpuTime>().end = times[i].end;
    publish(slot);
  }
}

/// Writes a line for the report, once.
[[gnu::format(printf, 1, 2)]] void tell(const char* format, ...) {
  char line[1024];
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (length <= 0) return;
  const auto bytes =
      static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1;
  write_message(line, bytes);
}

const char* load(const StreamSanTimings*& agent) {
  // A fork keeps why: it is written before it is read.
  static char why[1400];
  char path[1200];
  if (!beside_this_library(kTimingsName, path)) return "the folder of libstreamsan.so is not known";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    std::snprintf(why, sizeof why, "%s", error ? error : path);
    return why;
  }
  const auto get = reinterpret_cast<decltype(&::streamsan_timings)>(real_dlsym(library, "streamsan_timings"));
  agent = get ? get() : nullptr;
  if (!agent || agent->version != kStreamSanTimingsVersion) {
    std::snprintf(why, sizeof why, "%s is no agent of this version", path);
    return why;
  }
  const StreamSanTimingsHost host{
      .version = kStreamSanTimingsVersion, .cupti_library = options().cupti_library, .deliver = write_times};
  return agent->start(&host);
}

/// An exit handler: before the driver and CUPTI are torn down, and after what the program has registered since cuInit.
void finish_timing() {
  // The agent looks at the clock, which is not the program's doing.
  forget_wait();
  const StreamSanTimings* agent = detail::g_timings.exchange(nullptr);
  if (!agent || !recording()) return;
  const bool whole = agent->finish(kExitPatience) != 0;
  StreamSanTimingsCounts counts{};
  agent->counts(&counts);
  if (options().verbosity >= 2) {
    say("timings: %llu calls, %llu times, %llu of other calls, %llu records without times, %llu dropped",
        static_cast<unsigned long long>(counts.calls), static_cast<unsigned long long>(counts.delivered),
        static_cast<unsigned long long>(counts.unclaimed), static_cast<unsigned long long>(counts.untimed),
        static_cast<unsigned long long>(counts.dropped));
  }
  if (!whole) tell("timings: CUPTI did not hand out its records in time: the last times are missing");
  if (counts.dropped)
    tell("timings: CUPTI dropped the times of %llu operations", static_cast<unsigned long long>(counts.dropped));
}

}  // namespace

void start_timing() {
  if (!options().timings) return;
  const StreamSanTimings* agent = nullptr;
  if (const char* problem = load(agent)) {
    tell("timings: operations on the GPU have no times: %s", problem);
    return;
  }
  detail::g_timings.store(agent, std::memory_order_release);
  std::atexit(finish_timing);
}

void in_child::timing() {
  const StreamSanTimings* agent = detail::g_timings.exchange(nullptr);
  if (agent) agent->forget();
}

}  // namespace streamsan::recorder
