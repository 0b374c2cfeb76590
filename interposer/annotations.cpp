// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/annotations.h"

#include <atomic>
#include <cstring>

#include "include/streamsan/annotate.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/marks.h"
#include "interposer/pointer_regions.h"
#include "interposer/poison.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

using trace::Kind;

constexpr std::size_t kLongestLabel = 255;

constinit std::atomic<std::uint32_t> g_early_annotations{0};

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// Where something happens: in a stream, or by the host itself, or unstated.
struct StreamPlace {
  StreamArgument stream{};
  std::uint16_t flags = 0;
};

StreamPlace place_of(void* stream) {
  if (stream == STREAMSAN_HOST) return {{}, trace::kOnHost};
  if (stream == STREAMSAN_SAME_STREAM) return {{}, trace::kNoStream};
  // The header has said which default stream NULL is.
  const StreamArgument resolved = resolve_stream(address_of(stream), api::DefaultStream::Legacy);
  return {resolved, resolved.flags};
}

Slot start(Kind kind, const StreamPlace& place, const void* frame) {
  return start_record({.kind = kind, .flags = place.flags, .stack = capture_stack(frame)});
}

void write_block(Kind kind, std::uint64_t address, std::uint64_t bytes, const StreamPlace& place, const void* frame) {
  Slot slot = start(kind, place, frame);
  if (!slot) return;
  auto& w = slot.record->as<Kind::BlockAlloc>();
  w.address = address;
  w.bytes = bytes;
  w.stream = place.stream.handle;
  w.context = place.stream.context;
  publish(slot);
}

void write_order(Kind kind, const void* object, const StreamPlace& place, const void* frame) {
  Slot slot = start(kind, place, frame);
  if (!slot) return;
  auto& w = slot.record->as<Kind::Signal>();
  w.stream = place.stream.handle;
  w.context = place.stream.context;
  w.object = address_of(object);
  publish(slot);
}

template <Kind kKind>
void write_name(std::uint64_t subject, const char* name) {
  const std::size_t length = strnlen(name, kLongestLabel);
  if (length > 0) write_text<kKind>({subject}, &trace::Words<kKind>::name_bytes, name, length);
}

constexpr StreamPlace kNoStreamPlace{{}, trace::kNoStream};

/// Sizes and streams (0: the host) of live blocks, while they are to be poisoned when they go back.
constinit HandleTable<std::uint64_t, 1u << 14> g_block_bytes{};
constinit HandleTable<std::uint64_t, 1u << 14> g_block_streams{};

void note_handed_out(std::uint64_t block, std::uint64_t bytes, const StreamPlace& place) {
  auto* size = g_block_bytes.insert(block);
  auto* stream = g_block_streams.insert(block);
  if (!size || !stream) return;
  size->value.store(bytes, std::memory_order_relaxed);
  stream->value.store(place.stream.handle, std::memory_order_relaxed);
}

void poison_returning(std::uint64_t block, const StreamPlace& place) {
  const auto* size = g_block_bytes.find(block);
  const auto* handed_to = g_block_streams.find(block);
  if (!size || !handed_to) return;
  StreamArgument stream = place.stream;
  if (place.flags & trace::kNoStream) {
    const std::uint64_t handle = handed_to->value.load(std::memory_order_relaxed);
    if (handle) stream = resolve_stream(handle, api::DefaultStream::Legacy);
  }
  // Without a stream the host has waited for the block's users itself.
  poison_block(block, size->value.load(std::memory_order_relaxed), stream);
  g_block_bytes.erase(block);
  g_block_streams.erase(block);
}

// What the program calls. Each takes its own frame: the stack begins behind it.

void on_block_allocated(const void* block, std::size_t bytes, void* stream) {
  if (!block || bytes == 0 || !wants_annotations()) return;
  mark_region(address_of(block), bytes);
  const StreamPlace place = place_of(stream);
  write_block(Kind::BlockAlloc, address_of(block), bytes, place, __builtin_frame_address(0));
  if (poisoning()) [[unlikely]]
    note_handed_out(address_of(block), bytes, place);
}

void on_block_freed(const void* block, void* stream) {
  if (!block || !wants_annotations()) return;
  const StreamPlace place = place_of(stream);
  write_block(Kind::BlockFree, address_of(block), 0, place, __builtin_frame_address(0));
  if (poisoning()) [[unlikely]]
    poison_returning(address_of(block), place);
}

void on_block_used(const void* block, void* stream) {
  const StreamPlace place = block && wants_annotations() ? place_of(stream) : kNoStreamPlace;
  // The host's use is over when the block is freed, and its own stream's is no news.
  if (place.flags & (trace::kOnHost | trace::kNoStream)) return;
  write_block(Kind::BlockUse, address_of(block), 0, place, __builtin_frame_address(0));
}

void on_name_memory(const void* memory, const char* name) {
  if (memory && name && wants_annotations()) name_memory(address_of(memory), name);
}

void on_name_stream(void* stream, const char* name) {
  if (name && wants_annotations()) name_stream(address_of(stream), name);
}

void on_order(Kind kind, const void* object, void* stream, const void* frame) {
  if (!wants_annotations()) return;
  const StreamPlace place = place_of(stream);
  if (!(place.flags & trace::kNoStream)) write_order(kind, object, place, frame);
}

void on_happens_before(const void* object, void* stream) {
  on_order(Kind::Signal, object, stream, __builtin_frame_address(0));
}

void on_happens_after(const void* object, void* stream) {
  on_order(Kind::Await, object, stream, __builtin_frame_address(0));
}

}  // namespace

bool wants_annotations() {
  if (recording()) return true;
  if (detail::g_mode.load(std::memory_order_relaxed) == detail::Mode::Cold) {
    g_early_annotations.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

void block_began(std::uint64_t address, std::uint64_t bytes, const void* frame) {
  mark_region(address, bytes);
  write_block(Kind::BlockAlloc, address, bytes, kNoStreamPlace, frame);
}

void block_ended(std::uint64_t address, const void* frame) {
  write_block(Kind::BlockFree, address, 0, kNoStreamPlace, frame);
}

void block_handed_out(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream, const void* frame) {
  mark_region(address, bytes);
  StreamPlace place = place_of(reinterpret_cast<void*>(stream));
  place.flags |= trace::kOwnEvents;
  write_block(Kind::BlockAlloc, address, bytes, place, frame);
}

void block_given_back(std::uint64_t address, bool puts_off, const void* frame) {
  std::uint16_t flags = trace::kNoStream | trace::kOwnEvents;
  if (puts_off) flags |= trace::kPutsOff;
  write_block(Kind::BlockFree, address, 0, {{}, flags}, frame);
}

void name_memory(std::uint64_t address, const char* name) { write_name<Kind::NameMemory>(address, name); }

void name_stream(std::uint64_t handle, const char* name) {
  const auto stream = reinterpret_cast<void*>(handle);
  if (stream == STREAMSAN_HOST || stream == STREAMSAN_SAME_STREAM) return;
  write_name<Kind::NameStream>(place_of(stream).stream.handle, name);
}

void report_early_annotations() {
  const std::uint32_t early = g_early_annotations.exchange(0, std::memory_order_relaxed);
  if (early > 0 && options().verbosity >= 1) {
    say("%u annotations came before CUDA was initialised and do not count", early);
  }
}

void in_child::annotations() {
  g_early_annotations.store(0, std::memory_order_relaxed);
  if (!poisoning()) return;
  g_block_bytes.clear();
  g_block_streams.clear();
}

}  // namespace streamsan::recorder

extern "C" __attribute__((visibility("default"))) const streamsan_annotation_table streamsan_annotations = {
    .bytes = sizeof(streamsan_annotation_table),
    .block_allocated = streamsan::recorder::on_block_allocated,
    .block_freed = streamsan::recorder::on_block_freed,
    .block_used = streamsan::recorder::on_block_used,
    .name_memory = streamsan::recorder::on_name_memory,
    .name_stream = streamsan::recorder::on_name_stream,
    .happens_before = streamsan::recorder::on_happens_before,
    .happens_after = streamsan::recorder::on_happens_after,
    .mark = streamsan::recorder::mark,
    .host_waits = streamsan::recorder::say_host_waits,
    .ask = streamsan::recorder::ask,
    .position = streamsan::recorder::position,
};
