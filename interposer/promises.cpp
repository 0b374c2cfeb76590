// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/promises.h"

#include <atomic>

#include "interposer/footprint_records.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"

namespace streamsan::recorder {
namespace {

using trace::Piece;

// A fork keeps t_promise, t_depth: the child of a call goes on within it.
/// Of the outermost call, until a kernel has it.
constinit thread_local const Promise* t_promise __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local unsigned t_depth __attribute__((tls_model("initial-exec"))) = 0;
/// Of a key that two launches with different promises have.
constexpr std::uint32_t kDiffer = ~std::uint32_t{0};

constinit HandleTable<std::uint32_t, 1u << 12> g_captured{};  // key of a launch -> id of its footprint
constinit std::atomic<bool> g_any_captured{false};

/// Relative to the pointer of the launch that it begins at, so that the same product of other matrices is the same.
Piece piece_of(const Promise::Part& part, const LaunchArguments& arguments) {
  Piece piece{};
  piece.pointer = Piece::kAbsolute;
  piece.offset = static_cast<std::int64_t>(part.what.begin);
  for (unsigned i = 0; i < arguments.count(); ++i) {
    if (trace::word_address(arguments.pointers()[i]) != part.what.begin) continue;
    piece.pointer = static_cast<std::uint16_t>(i);
    piece.offset = 0;
    break;
  }
  piece.mode = part.mode;
  piece.width = part.what.width;
  piece.rows = static_cast<std::uint32_t>(part.what.columns);
  piece.pitch = part.what.columns > 1 ? part.what.pitch : 0;
  piece.slices = static_cast<std::uint32_t>(part.what.count);
  piece.slice_pitch = part.what.count > 1 ? part.what.distance : 0;
  return piece;
}

}  // namespace

void Promise::add(const Matrices& what, Piece::Mode mode) {
  constexpr std::uint64_t kMostRows = 0xffffffff;
  if (what.begin == 0 || what.width == 0 || what.columns == 0 || what.count == 0 || count == kMost) return;
  if (what.columns > kMostRows || what.count > kMostRows || (what.columns > 1 && what.pitch < what.width)) return;
  Part& part = parts[count++];
  part = {what, mode};
  // One run, if nothing lies between the columns; one matrix, if all are the same.
  if (part.what.pitch == part.what.width || part.what.columns == 1) {
    part.what.width *= part.what.columns;
    part.what.columns = 1;
  }
  if (part.what.distance == 0) part.what.count = 1;
}

Promising::Promising(const Promise& promise) : promise_(promise), outermost_(t_depth++ == 0) {
  if (outermost_ && promise_.count != 0) t_promise = &promise_;
}

Promising::~Promising() {
  --t_depth;
  if (outermost_) t_promise = nullptr;
}

STREAMSAN_HOT_CODE bool is_promised() { return t_promise != nullptr; }

std::uint32_t keep_promise(const LaunchArguments& arguments, std::uint64_t key) {
  const Promise* promise = t_promise;
  if (!promise) return 0;
  t_promise = nullptr;
  Piece pieces[Promise::kMost];
  for (unsigned i = 0; i < promise->count; ++i) pieces[i] = piece_of(promise->parts[i], arguments);
  const std::uint32_t id = footprint_id({pieces, promise->count}, trace::kIncomplete | trace::kPromised);
  if (auto* entry = key == 0 ? nullptr : g_captured.insert(key)) {
    std::uint32_t before = 0;
    if (!entry->value.compare_exchange_strong(before, id, std::memory_order_acq_rel) && before != id)
      entry->value.store(kDiffer, std::memory_order_release);
    g_any_captured.store(true, std::memory_order_relaxed);
  }
  return id;
}

bool any_promised_earlier() { return g_any_captured.load(std::memory_order_relaxed); }

std::uint32_t promised_earlier(std::uint64_t key) {
  auto* entry = key == 0 ? nullptr : g_captured.find(key);
  const std::uint32_t id = entry ? entry->value.load(std::memory_order_acquire) : 0;
  return id == kDiffer ? 0 : id;
}

std::uint64_t promise_key(const char* kernel, std::uint64_t hash) {
  const std::uint64_t key = mix_bits(hash ^ hash_of_text(kernel));
  return key > 1 ? key : key + 2;
}

void in_child::promises() {
  g_captured.clear();
  g_any_captured.store(false, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
