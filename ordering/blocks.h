// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of the program's own pools, as annotations describe them.
//
// A block is an allocation that lies inside another. While it lives, its bytes belong to it: an access is compared with
// other accesses in the same life, not with earlier ones by the pool or by other owners. So, as with allocations
// (R-SOA-08), the reuse of memory gives no report by itself. The pool, however, must keep a promise: when it hands the
// bytes out again, no earlier life may still be in use. The new owner works in a stream, or in no particular stream,
// which means that it may start at once. So every access of earlier lives must be before what that stream, or the host,
// does next. The return of a block is checked in the same way, against the stream for which the pool may hand the block
// out next without a wait: no harm is done yet, but will be when the block is handed out.
//
// A stream that the pool knows of is one that the pool waits for itself, up to the block's return. So an access that is
// before the work of that stream at that time is no hazard; that includes what the stream itself had waited for.
//
// A pool that states neither a stream nor that the host has waited (NVTX's regions) has promised nothing at either
// moment. Such a block inherits the accesses of its earlier lives, and every access to it is compared with those, too.
// An unordered pair is the same mistake, found later. If nothing touches the bytes again, there is nothing to report.
#pragma once

#include <optional>

#include "ordering/checks.h"

namespace streamsan::ordering {

/// The calls of Model on blocks: docstrings in model.h.
class Blocks {
 public:
  Blocks(Progress& progress, Lives& lives, Checks& checks) : progress_(progress), lives_(lives), checks_(checks) {}

  AllocationId allocate(Call call, std::optional<StreamId> stream, Range range);
  AllocationId allocate_without_stream(Call call, Range range);
  void free(Call call, std::optional<StreamId> stream, Address base);
  void free_without_stream(Call call, Address base);
  void free_unchecked(Call call, Address base);
  void use(StreamId stream, Address base);
  [[nodiscard]] const AllocationInfo* find(Address base) const;

 private:
  Progress& progress_;
  Lives& lives_;
  Checks& checks_;
};

}  // namespace streamsan::ordering
