// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Live allocations by address.
//
// Live allocations never overlap, so an ordered map by first address answers "which allocation holds this pointer?". A
// program launches kernels with the same few thousand pointers over and over; a small direct-mapped cache by pointer
// value answers those without walking the tree. It only says where to look first: an entry of the table that holds the
// address is the one, whatever it was when it was noted. So ending an allocation needs no search through the cache.
//
// When an allocation ends, its shadow is deleted: a later one at the same address is a new generation with an empty
// shadow (R-SOA-08). The table reuses the entry, so its size is that of the most allocations that lived at one time. A
// second instance holds the blocks that pools hand out: they lie inside allocations, but not inside each other.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/kept_node.h"
#include "ordering/shadow.h"
#include "ordering/types.h"

namespace streamsan::ordering {

struct Allocation;
using AllocationsByAddress = std::map<Address, Allocation*>;

/// What every access looks at comes first.
struct Allocation {
  AllocationInfo info;
  bool without_stream = false;  ///< a block: for no stream and not for the host, see block_allocate_without_stream()
  bool inherits = false;        ///< ... and accesses are still compared with those of earlier lives
  Shadow shadow;
  std::optional<StreamId> handed_to;  ///< a block: the stream it was handed out for
  std::vector<StreamId> declared;     ///< a block: streams that the pool knows of and waits for
  std::uint32_t graphs_before = 0;    ///< a block: GraphCount when it was handed out
  TwoClocks waited;                   ///< a block: what the pool waits for in those that were destroyed
  AllocationsByAddress::iterator at;  ///< of the table that it is in
};

class Allocations {
 public:
  /// A new generation. The range must not overlap a live allocation.
  Allocation& add(AllocationId id, Range range, MemoryKind kind);
  /// Its shadow must have been cleared: the next generation uses the memory that it keeps.
  void remove(Allocation& allocation);

  /// The live allocation that holds the address, or nullptr.
  [[nodiscard]] Allocation* find(Address address) {
    if (last_found_ && last_found_->info.range.contains(address)) return last_found_;
    Allocation*& likely = cache_[cache_slot(address)];
    if (likely && likely->info.range.contains(address)) return last_found_ = likely;
    Allocation* found = find_first_ending_after(address);
    if (!found || !found->info.range.contains(address)) return nullptr;
    return last_found_ = likely = found;
  }
  [[nodiscard]] const Allocation* find_uncached(Address address) const;
  /// The live allocation with the lowest address that ends after `address`, or nullptr.
  [[nodiscard]] Allocation* find_first_ending_after(Address address) const;

  [[nodiscard]] std::size_t live() const { return by_address_.size(); }
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [address, allocation] : by_address_) visit(*allocation);
  }

 private:
  static constexpr std::size_t kCacheSlots = 4096;

  static std::size_t cache_slot(Address address) { return (address * 0x9E3779B97F4A7C15ull) >> 52; }

  AllocationsByAddress by_address_;
  KeptNode<AllocationsByAddress> kept_;
  std::deque<Allocation> storage_;  // addresses stay valid
  std::vector<Allocation*> unused_;
  Allocation* last_found_ = nullptr;  ///< if it has ended since, its range is empty
  std::vector<Allocation*> cache_ = std::vector<Allocation*>(kCacheSlots);  ///< what ended since holds nothing
};

}  // namespace streamsan::ordering
