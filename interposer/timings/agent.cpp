// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent that takes times from CUPTI's activity interface.
//
//   begin:        the thread is inside of a call that becomes a record
//   the call:     CUPTI announces it to our callback, with the number it gives to the call
//   end:          number -> record (meeting.h)
//   much later:   CUPTI hands out a buffer of records with number, start and end; those that meet a record are
//                 delivered
//
// CUPTI's external correlation would need no callback, but CUPTI writes these records only if it also records every
// call of the driver. So the agent asks for callbacks, only for the entry points that submit operations.
//
// Times are CLOCK_MONOTONIC, as those of the recorder: CUPTI asks us for the time when it relates the GPU's clock to
// the host's. A CUPTI that cannot (before CUDA 11.6) uses its own clock, and the difference is measured for
// each buffer.
//
// Only one client of CUPTI can receive callbacks: if a profiler runs already there are no times, and a profiler that
// starts after us gets none.
//
// Graphs: CUPTI times a launch as a whole where it can (CUDA 11.7), else each node.
#include "interposer/timings/agent.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "interposer/clock.h"
#include "interposer/timings/buffers.h"
#include "interposer/timings/cupti_abi.h"
#include "interposer/timings/flusher.h"
#include "interposer/timings/meeting.h"
#include "ordering/api/row.h"

namespace streamsan::timings {
namespace {

constexpr std::uint32_t kFlushEvery = 200;      // ms
constexpr std::uint32_t kMostCallbacks = 2048;  // entry points CUPTI may know
constexpr unsigned kMostNumbers = 8;            // calls of the driver in one of ours
constexpr std::size_t kBatch = 256;

StreamSanTimingsHost g_host{};
cupti::Api g_api{};
cupti::Subscriber g_subscriber = nullptr;
Meeting g_meeting;
Buffers g_buffers;
Flusher g_flusher;
bool g_own_clock = false;  ///< times are CUPTI's own
std::atomic<bool> g_running{false};
std::atomic<bool> g_forked{false};
char g_problem[512];

std::atomic<std::uint64_t> g_calls{0};
std::atomic<std::uint64_t> g_delivered{0};
std::atomic<std::uint64_t> g_timed{0};
std::atomic<std::uint64_t> g_untimed{0};
std::atomic<std::uint64_t> g_dropped{0};

struct Call {
  bool inside;
  unsigned count;
  std::uint32_t numbers[kMostNumbers];
};
thread_local Call t_call{};

extern "C" void streamsan_on_call(void*, std::uint32_t domain, std::uint32_t, const void* data) {
  const auto& announced = *static_cast<const cupti::CallbackData*>(data);
  Call& call = t_call;
  if (!call.inside || domain != cupti::kDomainDriver || announced.site != cupti::kSiteEnter) return;
  if (call.count == kMostNumbers) return;
  if (call.count && call.numbers[call.count - 1] == announced.correlation_id) return;
  call.numbers[call.count++] = announced.correlation_id;
}

extern "C" std::uint64_t streamsan_timestamp() { return monotonic_ns(); }

extern "C" void streamsan_buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = g_buffers.take();
  *size = *buffer ? Buffers::kBytes : 0;
  *most_records = 0;
}

const cupti::Layout* layout_of(std::uint32_t kind) {
  switch (kind) {
    case cupti::kMemcpy:
      return &cupti::kMemcpyLayout;
    case cupti::kMemset:
      return &cupti::kMemsetLayout;
    case cupti::kConcurrentKernel:
      return &cupti::kKernelLayout;
    case cupti::kMemcpyPeer:
      return &cupti::kMemcpyPeerLayout;
    case cupti::kGraphTrace:
      return &cupti::kGraphLayout;
    default:
      return nullptr;
  }
}

template <class Word>
Word read(const std::uint8_t* record, std::size_t offset) {
  Word word;
  std::memcpy(&word, record + offset, sizeof word);
  return word;
}

/// What has to be added to CUPTI's time.
std::uint64_t clock_difference() {
  std::uint64_t theirs = 0;
  if (!g_own_clock || g_api.timestamp(&theirs) != cupti::kSuccess) return 0;
  return monotonic_ns() - theirs;
}

/// Delivers many at once; times of one call that follow each other become one.
class Batch {
 public:
  explicit Batch(std::uint64_t difference) : difference_(difference) {}
  ~Batch() { deliver(); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void add(const std::uint8_t* record) {
    const cupti::Layout* layout = layout_of(read<std::uint32_t>(record, 0));
    if (!layout) return;
    const auto start = read<std::uint64_t>(record, layout->start);
    const auto end = read<std::uint64_t>(record, layout->end);
    if (start == 0 || end < start) {
      g_untimed.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    g_timed.fetch_add(1, std::memory_order_relaxed);
    StreamSanTime time;
    if (!g_meeting.time(read<std::uint32_t>(record, layout->correlation), start + difference_, end + difference_, time))
      return;
    if (count_ && times_[count_ - 1].position == time.position) {
      StreamSanTime& last = times_[count_ - 1];
      if (time.start < last.start) last.start = time.start;
      if (time.end > last.end) last.end = time.end;
      g_delivered.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (count_ == kBatch) deliver();
    times_[count_++] = time;
  }

 private:
  void deliver() {
    if (count_) g_host.deliver(times_, count_);
    g_delivered.fetch_add(count_, std::memory_order_relaxed);
    count_ = 0;
  }

  std::uint64_t difference_;
  std::size_t count_ = 0;
  StreamSanTime times_[kBatch];
};

extern "C" void streamsan_buffer_done(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (!buffer) return;
  if (!g_forked.load(std::memory_order_relaxed) && valid) {
    Batch batch(clock_difference());
    std::uint8_t* record = nullptr;
    while (g_api.next_record(buffer, valid, &record) == cupti::kSuccess) batch.add(record);
    std::size_t dropped = 0;
    if (g_api.dropped(nullptr, 0, &dropped) == cupti::kSuccess) g_dropped.fetch_add(dropped, std::memory_order_relaxed);
  }
  g_buffers.give_back(buffer);
}

void flush(bool last) { g_api.flush_all(last ? cupti::kFlushForced : 0); }

const char* cupti_problem(const char* what, cupti::Result result) {
  const char* text = nullptr;
  if (g_api.result_string(result, &text) != cupti::kSuccess || !text) text = "no name";
  std::snprintf(g_problem, sizeof g_problem, "%s failed: CUPTI error %d (%s)", what, result, text);
  return g_problem;
}

/// CUPTI times what such a call submits.
constexpr bool is_timed(const api::Effect& effect) {
  switch (effect.kind) {
    case api::EffectKind::Launch:
    case api::EffectKind::LaunchConfig:
    case api::EffectKind::LaunchList:
    case api::EffectKind::Copy:
    case api::EffectKind::Copy2D:
    case api::EffectKind::Copy3D:
    case api::EffectKind::Fill:
    case api::EffectKind::Fill2D:
    case api::EffectKind::GraphLaunch:
      return true;
    case api::EffectKind::StreamAction:
      return effect.runs_code || effect.batch == api::Batch::Copies || effect.batch == api::Batch::Copies3D;
    default:
      return false;
  }
}

/// CUPTI names its callbacks after the exports. One without a row makes no record that a time could be given to.
bool makes_operations(const char* function) {
  const api::Row* row = api::find_row(function);
  return row && is_timed(row->effect);
}

/// True: at least one entry point is listened to.
bool listen() {
  bool any = false;
  for (std::uint32_t id = 1; id < kMostCallbacks; ++id) {
    const char* name = nullptr;
    if (g_api.callback_name(cupti::kDomainDriver, id, &name) != cupti::kSuccess) continue;
    if (!name || !makes_operations(name)) continue;
    any |= g_api.enable_callback(1, g_subscriber, cupti::kDomainDriver, id) == cupti::kSuccess;
  }
  return any;
}

const char* subscribe() {
  const cupti::Result result = g_api.subscribe(&g_subscriber, streamsan_on_call, nullptr);
  if (result == cupti::kMultipleSubscribers) {
    return "another tool uses CUPTI in this process (a profiler?), and only one can";
  }
  if (result != cupti::kSuccess) return cupti_problem("subscribing", result);
  return listen() ? nullptr : "CUPTI announces no calls of the driver";
}

const char* enable() {
  g_own_clock = !g_api.register_timestamp || g_api.register_timestamp(streamsan_timestamp) != cupti::kSuccess;
  if (const auto result = g_api.register_callbacks(streamsan_buffer_wanted, streamsan_buffer_done);
      result != cupti::kSuccess) {
    return cupti_problem("registering buffers", result);
  }
  for (const cupti::ActivityKind kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemset}) {
    if (const auto result = g_api.enable(kind); result != cupti::kSuccess)
      return cupti_problem("recording activity", result);
  }
  // Without these there is less: no copies between devices, or the nodes of a graph one by one.
  g_api.enable(cupti::kMemcpyPeer);
  g_api.enable(cupti::kGraphTrace);
  return nullptr;
}

const char* start(const StreamSanTimingsHost* host) {
  if (host->version != kStreamSanTimingsVersion) return "agent and recorder are of different versions";
  if (g_forked.load()) return "CUPTI does not work after a fork";
  g_host = *host;
  if (const char* problem = cupti::load(g_host.cupti_library, g_api)) return problem;
  const char* problem = subscribe();
  if (!problem) problem = enable();
  if (!problem && !g_flusher.start(flush, kFlushEvery)) problem = "there is no thread for it";
  if (problem) {
    if (g_subscriber) g_api.unsubscribe(g_subscriber);
    g_subscriber = nullptr;
    return problem;
  }
  g_running.store(true);
  return nullptr;
}

void begin() {
  Call& call = t_call;
  call.count = 0;
  call.inside = g_running.load(std::memory_order_relaxed);
}

void end(std::uint64_t position) {
  Call& call = t_call;
  call.inside = false;
  if (position == STREAMSAN_NO_RECORD || !g_running.load(std::memory_order_relaxed)) return;
  g_calls.fetch_add(call.count ? 1 : 0, std::memory_order_relaxed);
  for (unsigned i = 0; i < call.count; ++i) {
    StreamSanTime time;
    if (!g_meeting.call(call.numbers[i], position, time)) continue;
    g_host.deliver(&time, 1);
    g_delivered.fetch_add(1, std::memory_order_relaxed);
  }
}

int finish(std::uint32_t patience_ms) {
  if (!g_running.exchange(false)) return 1;
  return g_flusher.finish(patience_ms);
}

void counts(StreamSanTimingsCounts* out) {
  out->calls = g_calls.load();
  out->delivered = g_delivered.load();
  const std::uint64_t timed = g_timed.load();
  out->unclaimed = timed > out->delivered ? timed - out->delivered : 0;
  out->untimed = g_untimed.load();
  out->dropped = g_dropped.load();
}

void forget() {
  g_forked.store(true);
  g_running.store(false);
  g_flusher.forget();
  t_call = {};
}

constexpr StreamSanTimings kAgent = {kStreamSanTimingsVersion, start, begin, end, finish, counts, forget};

}  // namespace
}  // namespace streamsan::timings

extern "C" __attribute__((visibility("default"))) const StreamSanTimings* streamsan_timings(void) {
  return &streamsan::timings::kAgent;
}
