// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprint_records.h"

#include <atomic>
#include <cstring>

#include "interposer/agent_host.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/host/owned_lock.h"
#include "interposer/process.h"
#include "interposer/streams.h"
#include "interposer/writer.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kFlagsSeed =
    0x9d39247e33776d41ull;  // any odd number: lists with flags have hashes of their own

constinit HandleTable<std::uint32_t, 1u << 16> g_ids{};  // hash of the pieces and the flags -> id
constinit OwnedLock g_lock{};                            // of what follows, and of writing
constinit std::uint32_t g_next_list_id = 1;

/// A bit for each id. Later ones count as complete: a conflict is less certain then.
constexpr std::uint32_t kMostKnown = 1u << 17;
constinit std::atomic<std::uint64_t> g_incomplete[kMostKnown / 64] = {};

void define_memory(const trace::Piece& piece) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  if (!address_range(static_cast<std::uint64_t>(piece.offset), begin, end)) return;
  Slot slot = start_record({.kind = trace::Kind::Alloc,
                            .api = static_cast<std::uint16_t>(api::Index::cuModuleGetGlobal_v2),
                            .flags = trace::kVariable});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::Alloc>();
  w.address = begin;
  w.bytes = end - begin;
  w.memory = ordering::MemoryKind::Device;
  w.context = current_context();
  publish(slot);
}

void write_pieces(std::uint32_t id, std::span<const trace::Piece> list, std::uint64_t flags) {
  std::size_t first = 0;
  do {
    const std::size_t left = list.size() - first;
    const std::size_t count = left < trace::kMostPiecesPerRecord ? left : trace::kMostPiecesPerRecord;
    const std::size_t words = count * trace::kPieceWords;
    Slot slot = start_record({.kind = trace::Kind::Footprint, .continuations = continuations_of_words(words)});
    if (!slot) return;
    slot.record->as<trace::Kind::Footprint>().id = id;
    slot.record->as<trace::Kind::Footprint>().pieces = count;
    slot.record->as<trace::Kind::Footprint>().footprint_flags = flags;
    slot.record->as<trace::Kind::Footprint>().more = first + count < list.size() ? 1 : 0;
    if (count) std::memcpy(slot.continuation(), list.data() + first, count * sizeof(trace::Piece));
    publish(slot);
    first += count;
  } while (first < list.size());
}

/// The lock is held.
std::uint32_t new_footprint(std::span<const trace::Piece> pieces, std::uint64_t flags) {
  const std::uint32_t id = g_next_list_id++;
  const bool promised = (flags & trace::kPromised) != 0;
  for (const trace::Piece& piece : pieces) {
    if (piece.pointer == trace::Piece::kAbsolute && !promised) define_memory(piece);
  }
  write_pieces(id, pieces, flags);
  if ((flags & trace::kIncomplete) != 0 && id < kMostKnown)
    g_incomplete[id / 64].fetch_or(std::uint64_t{1} << (id % 64), std::memory_order_relaxed);
  trace::FileHeader* head = promised ? nullptr : header();
  if (head) head->learned.fetch_add(1, std::memory_order_relaxed);
  return id;
}

}  // namespace

std::uint32_t footprint_id(std::span<const trace::Piece> pieces, std::uint64_t flags) {
  const std::uint64_t hash = hash_of(pieces) ^ (flags * kFlagsSeed);
  const std::uint64_t key = hash > 1 ? hash : hash + 2;
  if (auto* known = g_ids.find(key)) {
    if (const std::uint32_t id = known->value.load(std::memory_order_acquire)) return id;
  }
  if (!g_lock.lock()) return 0;
  auto* entry = g_ids.insert(key);
  std::uint32_t id = entry ? entry->value.load(std::memory_order_relaxed) : 0;
  if (!id) {
    id = new_footprint(pieces, flags);
    if (entry) entry->value.store(id, std::memory_order_release);
  }
  g_lock.unlock();
  return id;
}

bool is_incomplete(std::uint32_t footprint) {
  if (footprint >= kMostKnown) return false;
  return (g_incomplete[footprint / 64].load(std::memory_order_relaxed) >> (footprint % 64) & 1) != 0;
}

void in_child::footprints() {
  g_ids.clear();
  g_lock.forget();
  g_next_list_id = 1;
  for (auto& word : g_incomplete) word.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
