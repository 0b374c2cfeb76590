// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/streams.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/contention.h"
#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/perturb.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

/// A value of g_known is the address of the stream's context, and has these bits where that is aligned:
constexpr std::uint64_t kNonBlocking = 1;
constexpr std::uint64_t kIsKnown = 2;  // always set, so that no value is zero
constexpr std::uint64_t kBits = kNonBlocking | kIsKnown;
constexpr unsigned kChangesShift = 20;  // handles and contexts differ in other bits than small numbers do
constinit HandleTable<std::uint64_t, 1u << 16> g_known{};

constinit HandleTable<std::uint32_t, 256> g_contexts{};  // ordinal of the device + 1, as last recorded
// A fork keeps g_context_deaths, g_stream_changes: they only count up.
/// Counts them. After one, the same address may be that of another context.
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_context_deaths{0};

/// Counts the changes of g_known. It has a cache line of its own: some programs make a stream for each request.
STREAMSAN_HOT_TABLE constinit std::atomic<std::uint64_t> g_stream_changes{0};

/// The value of g_known for the stream; 0: there is none. That table is large, so each thread remembers its last
/// stream. A signal handler of the guest may run this function between any two of its steps, for another stream, and
/// leave a mixture of both in what is remembered. The check then fails, unless both streams have the same value or two
/// numbers happen to agree.
STREAMSAN_HOT_CODE std::uint64_t known(std::uint64_t handle) {
  if (handle <= trace::kPerThreadStream) return 0;
  ThreadState& me = t_thread;
  const std::uint64_t changes = g_stream_changes.load(std::memory_order_acquire) << kChangesShift;
  const std::uint64_t last = std::atomic_ref(me.stream_known).load(std::memory_order_relaxed);  // loaded only once
  if (me.stream == handle && me.stream_check == (handle ^ last ^ changes) && me.epoch == process_epoch()) [[likely]]
    return last;
  const auto* entry = g_known.find(handle);
  const std::uint64_t found = entry ? entry->value.load(std::memory_order_relaxed) : 0;
  if (found == 0) return 0;
  thread_number();  // after a fork, forgets what the parent's thread remembered
  me.stream = handle;
  me.stream_known = found;
  me.stream_check = handle ^ found ^ changes;
  return found;
}

void meet_context(std::uint64_t context) {
  t_thread.context = context;
  t_thread.context_deaths = g_context_deaths.load(std::memory_order_relaxed);
  if (context == 0) return;
  CUdevice device = 0;
  auto ask = SS_DRIVER(cuCtxGetDevice);
  if (!ask || ask(&device) != CUDA_SUCCESS) return;
  const auto known = static_cast<std::uint32_t>(device) + 1;
  auto* entry = g_contexts.insert(context);
  if (!entry || entry->value.exchange(known, std::memory_order_relaxed) == known) return;
  Slot slot = start_record({.kind = trace::Kind::Context});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::Context>();
  w.context = context;
  w.device = static_cast<std::uint64_t>(device);
  publish(slot);
}

std::uint64_t ask_for_context(CUstream stream) {
  CUcontext context = nullptr;
  auto get = SS_DRIVER(cuStreamGetCtx);
  return get && get(stream, &context) == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(context) : current_context();
}

}  // namespace

STREAMSAN_HOT_CODE std::uint64_t current_context() {
  CUcontext current = nullptr;
  auto get = SS_DRIVER(cuCtxGetCurrent);
  if (!get || get(&current) != CUDA_SUCCESS) return 0;
  const auto context = reinterpret_cast<std::uint64_t>(current);
  if (context != t_thread.context || t_thread.context_deaths != g_context_deaths.load(std::memory_order_relaxed))
      [[unlikely]]
    meet_context(context);
  return context;
}

void context_dies() { g_context_deaths.fetch_add(1, std::memory_order_relaxed); }

bool is_being_captured(StreamArgument stream) {
  auto ask = SS_DRIVER(cuStreamIsCapturing);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return !ask || ask(reinterpret_cast<CUstream>(stream.handle), &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void stream_created(std::uint64_t handle, std::uint16_t api, std::uint32_t stack) {
  auto stream = reinterpret_cast<CUstream>(handle);
  unsigned flags = 0;
  unsigned long long id = 0;
  if (auto get = SS_DRIVER(cuStreamGetFlags)) get(stream, &flags);
  if (auto get = SS_DRIVER(cuStreamGetId)) get(stream, &id);
  current_context();  // for the record that it writes about a new context
  const bool non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  const std::uint64_t context = ask_for_context(stream);
  if (auto* entry = g_known.insert(handle))
    entry->value.store(context | (non_blocking ? kNonBlocking : 0) | kIsKnown, std::memory_order_relaxed);
  g_stream_changes.fetch_add(1, std::memory_order_release);  // an earlier stream may have had this handle
  if (perturbing()) number_stream(handle);
  stream_made();
  Slot slot = start_record({.kind = trace::Kind::StreamCreate, .api = api, .stack = stack});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::StreamCreate>();
  w.handle = handle;
  w.non_blocking = non_blocking;
  w.context = context;
  w.id = id;
  publish(slot);
}

bool is_non_blocking(std::uint64_t handle) { return (known(handle) & kNonBlocking) != 0; }

STREAMSAN_HOT_CODE std::uint64_t context_of(const StreamArgument& stream) {
  return stream.context ? stream.context : known(stream.handle) & ~kBits;
}

void stream_going(std::uint64_t handle) {
  g_known.erase(handle);
  g_stream_changes.fetch_add(1, std::memory_order_release);
  if (perturbing()) forget_number(handle);
}

void in_child::streams() {
  g_known.clear();
  g_contexts.clear();
  t_thread.context = 0;
}

STREAMSAN_HOT_CODE StreamArgument resolve_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero) {
  std::uint16_t flags = 0;
  if (handle == 0) {
    handle = meaning_of_zero == api::DefaultStream::PerThread ? trace::kPerThreadStream : trace::kLegacyStream;
    flags = trace::kImplicitStream;
  }
  if (handle <= trace::kPerThreadStream) return {handle, current_context(), flags};
  const StreamArgument stream{handle, 0, flags};
  // No wrapped function has made this stream. To ask for its flags while it is being captured would break the capture,
  // so it is met by the first call after that.
  if (known(handle) == 0) [[unlikely]] {
    if (!is_being_captured(stream)) stream_created(handle, api::Index::cuStreamGetFlags, 0);
  }
  return stream;
}

StreamArgument known_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero) {
  if (handle > trace::kPerThreadStream && known(handle) == 0) return {};
  return resolve_stream(handle, meaning_of_zero);
}

}  // namespace streamsan::recorder
