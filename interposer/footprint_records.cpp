// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprint_records.h"

#include <cstring>

#include "interposer/agent_host.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/process.h"
#include "interposer/streams.h"
#include "interposer/writer.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kIncompleteSeed =
    0x9d39247e33776d41ull;  // any number: incomplete lists have hashes of their own

constinit HandleTable<std::uint32_t, 1u << 16> g_ids{};  // hash of the pieces -> id
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

void write_pieces(std::uint32_t id, const PieceList& list, bool incomplete) {
  std::size_t first = 0;
  do {
    const std::size_t left = list.count - first;
    const std::size_t count = left < trace::kMostPiecesPerRecord ? left : trace::kMostPiecesPerRecord;
    const std::size_t words = count * trace::kPieceWords;
    Slot slot = start_record({.kind = trace::Kind::Footprint, .continuations = continuations_of_words(words)});
    if (!slot) return;
    slot.record->as<trace::Kind::Footprint>().id = id;
    slot.record->as<trace::Kind::Footprint>().pieces = count;
    slot.record->as<trace::Kind::Footprint>().footprint_flags = incomplete ? std::uint64_t{trace::kIncomplete} : 0;
    slot.record->as<trace::Kind::Footprint>().more = first + count < list.count ? 1 : 0;
    if (count) std::memcpy(slot.continuation(), list.pieces + first, count * sizeof(trace::Piece));
    publish(slot);
    first += count;
  } while (first < list.count);
}

}  // namespace

std::uint32_t footprint_id(const PieceList& pieces, bool incomplete) {
  const std::uint64_t hash = hash_of(pieces) ^ (incomplete ? kIncompleteSeed : 0);
  auto* entry = g_ids.insert(hash > 1 ? hash : hash + 2);
  if (entry && entry->value.load()) return entry->value.load();
  const std::uint32_t id = g_next_list_id++;
  for (std::size_t i = 0; i < pieces.count; ++i) {
    if (pieces.pieces[i].pointer == trace::Piece::kAbsolute) define_memory(pieces.pieces[i]);
  }
  write_pieces(id, pieces, incomplete);
  if (entry) entry->value.store(id);
  if (trace::FileHeader* head = header()) head->learned.fetch_add(1, std::memory_order_relaxed);
  return id;
}

void in_child::footprints() {
  g_ids.clear();
  g_next_list_id = 1;
}

}  // namespace streamsan::recorder
