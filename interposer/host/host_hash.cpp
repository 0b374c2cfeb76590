// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/host_hash.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/host/host_memory.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

namespace detail {
constinit std::atomic<bool> g_host_hash{false};
}

namespace {

struct Watched {
  std::atomic<bool> taken;  ///< from hash_source() until the host function has run
  std::uint32_t epoch;
  std::uint16_t api;
  std::uint16_t thread;
  std::uint32_t stack;
  ContentHash content;
};
constinit Watched g_watched[kMostHashed] = {};
// A fork keeps g_host_hash: an option. And g_next: any place to begin the search from will do.
constinit std::atomic<unsigned> g_next{0};

Watched* take_place() {
  const unsigned first = g_next.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < kMostHashed; ++i) {
    Watched& place = g_watched[(first + i) % kMostHashed];
    if (!place.taken.load(std::memory_order_relaxed) && !place.taken.exchange(true, std::memory_order_acquire))
      return &place;
  }
  return nullptr;
}

void CUDA_CB compare_content(void* data) {
  auto& watched = *static_cast<Watched*>(data);
  const ContentHash::Piece changed = watched.content.first_changed();
  Slot slot = changed.bytes && watched.epoch == process_epoch() ? reserve(0) : Slot{};
  auto& w = slot.record->as<trace::Kind::HostAccess>();
  if (slot) {
    slot.record->kind = trace::Kind::HostAccess;
    slot.record->api = watched.api;
    slot.record->thread = watched.thread;
    slot.record->stack = watched.stack;
    w.address = changed.begin;
    w.bytes = changed.bytes;
    w.way = trace::AccessWay::Content;
    w.writes = 1;
    publish(slot);
  }
  watched.taken.store(false, std::memory_order_release);
}

/// Pinned or registered memory, or memory of that kind that is a part of it.
bool is_pinned(std::uint64_t address) {
  auto ask = SS_DRIVER(cuPointerGetAttribute);
  unsigned type = 0;
  unsigned managed = 0;
  if (!ask || ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) return false;
  if (ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) != CUDA_SUCCESS) managed = 0;
  return type == CU_MEMORYTYPE_HOST && !managed;
}

}  // namespace

void start_hashing() {
  detail::g_host_hash.store(options().host_hash != 0, std::memory_order_relaxed);
  if (!hashing()) return;
  driver_entry(api::Index::cuPointerGetAttribute);
  driver_entry(api::Index::cuStreamIsCapturing);
}

void hash_source(std::uint64_t begin, std::uint64_t bytes, StreamArgument stream, std::uint16_t api,
                 const void* frame) {
  if (!bytes || !stream.handle || can_be_guarded(begin) || !is_pinned(begin) || !is_pinned(begin + bytes - 1) ||
      is_being_captured(stream))
    return;
  auto submit = SS_DRIVER(cuLaunchHostFunc);
  Watched* watched = submit ? take_place() : nullptr;
  if (!watched) return;
  watched->epoch = process_epoch();
  watched->api = api;
  watched->thread = thread_number();
  watched->stack = capture_stack(frame);
  watched->content.take(reinterpret_cast<const void*>(begin), static_cast<std::size_t>(bytes));
  if (submit(reinterpret_cast<CUstream>(stream.handle), compare_content, watched) != CUDA_SUCCESS)
    watched->taken.store(false, std::memory_order_release);
}

void in_child::hashes() {
  if (!hashing()) return;
  for (Watched& watched : g_watched) watched.taken.store(false, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
