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

/// False: there is no room in the trace.
bool write_pieces(std::uint32_t id, std::span<const trace::Piece> list, std::uint64_t flags) {
  std::size_t first = 0;
  do {
    const std::size_t left = list.size() - first;
    const std::size_t count = left < trace::kMostPiecesPerRecord ? left : trace::kMostPiecesPerRecord;
    constexpr auto kKind = trace::Kind::Footprint;
    Slot slot = start_record({.kind = kKind, .continuations = continuations_of_list<kKind>(count)});
    if (!slot) return false;
    auto& w = slot.record->as<kKind>();
    w.id = id;
    w.pieces = count;
    w.footprint_flags = flags;
    w.more = first + count < list.size() ? 1 : 0;
    if (count) std::memcpy(slot.list<kKind>(), list.data() + first, count * sizeof(trace::Piece));
    publish(slot);
    first += count;
  } while (first < list.size());
  return true;
}

bool is_promise(std::uint64_t flags) { return (flags & trace::kPromised) != 0; }

/// 0: it could not be written. The lock is held.
std::uint32_t new_footprint(std::span<const trace::Piece> pieces, std::uint64_t flags) {
  const std::uint32_t id = g_next_list_id++;
  if (!write_pieces(id, pieces, flags)) return 0;
  trace::FileHeader* head = is_promise(flags) ? nullptr : header();
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
  // Not under the lock: the driver has locks of its own. Two threads may define the same memory, which does no harm.
  for (const trace::Piece& piece : pieces) {
    if (piece.pointer == trace::Piece::kAbsolute && !is_promise(flags)) define_memory(piece);
  }
  if (!g_lock.lock()) return 0;
  auto* entry = g_ids.insert(key);
  std::uint32_t id = entry ? entry->value.load(std::memory_order_relaxed) : 0;
  if (!id) {
    id = new_footprint(pieces, flags);
    if (entry && id) entry->value.store(id, std::memory_order_release);
  }
  g_lock.unlock();
  return id;
}

void in_child::footprints() {
  g_ids.clear();
  g_lock.forget();
  g_next_list_id = 1;
}

}  // namespace streamsan::recorder
