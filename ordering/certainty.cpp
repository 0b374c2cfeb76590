// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// certainty(): do two accesses surely meet? hazard.h has the rules and the reasons; this file has only the table.
//
// The numbers: a factor of 32 between thread counts separates a kernel that packs a boundary from the one that works on
// the interior, and keeps together kernels that only differ in how many elements one thread handles.
#include "ordering/hazard.h"

namespace streamsan::ordering {
namespace {

constexpr std::uint64_t kLikeSizes = 32;

bool one_surely_writes(const Access& a, const Access& b) {
  const auto meets_atomic = [](const Access& other) {
    return other.mode == AccessMode::Read || (other.mode == AccessMode::Write && other.exact);
  };
  if (a.mode == AccessMode::Atomic) return meets_atomic(b);
  if (b.mode == AccessMode::Atomic) return meets_atomic(a);
  return a.mode == AccessMode::Write || b.mode == AccessMode::Write;
}

/// How the bytes of the less certain access are known, if both are exact; else how those of the exact one are.
Evidence weaker(const Access& a, const Access& b) {
  if (!a.exact || !b.exact) return evidence(a.exact ? a : b);
  return evidence(a) < evidence(b) ? evidence(a) : evidence(b);
}

/// Does the allocation itself begin or end?
bool is_life(const Access& access) {
  return access.source == AccessSource::Free || access.source == AccessSource::Allocate;
}

bool is_doubtful(const Access& access) { return access.mode == AccessMode::Doubtful; }

/// Launches of one kernel that differ in an argument: the usual way to have each work on a slice of its own.
bool may_be_slices(const Access& a, const Access& b) {
  const bool kernels = a.source == AccessSource::Kernel && b.source == AccessSource::Kernel;
  return kernels && a.function == b.function && a.arguments_hash != b.arguments_hash;
}

Certainty exact_meets_inferred(const Access& exact, const Access& inferred, Range allocation) {
  if (exact.range.contains(allocation)) return Certainty::Certain;
  if (inferred.bounded && exact.range.contains(inferred.range) && !may_be_slices(exact, inferred))
    return Certainty::Certain;
  if (inferred.bounded || exact.source == AccessSource::Host) return Certainty::Possible;
  if (may_be_slices(exact, inferred)) return Certainty::Possible;
  const bool holds_pointer = exact.range.contains(inferred.range.begin);
  return holds_pointer && exact.range.size() >= inferred.device_threads ? Certainty::Certain : Certainty::Possible;
}

bool alike_in_size(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t less = a < b ? a : b;
  const std::uint64_t more = a < b ? b : a;
  return more / kLikeSizes < less || (more / kLikeSizes == less && more % kLikeSizes == 0);
}

Certainty inferred_meets_inferred(const Access& a, const Access& b) {
  if (a.parted || b.parted) return Certainty::Possible;
  if (a.range.begin != b.range.begin || !alike_in_size(a.device_threads, b.device_threads)) return Certainty::Possible;
  return may_be_slices(a, b) ? Certainty::Possible : Certainty::Certain;
}

bool may_be_signal(const Access& device, const Access& host) {
  return may_signal(device) && host.source == AccessSource::Host;
}

}  // namespace

std::optional<Certainty> certainty(const Access& earlier, const Access& later, Range allocation) {
  if (!earlier.range.overlaps(later.range)) return std::nullopt;
  if (is_at_most_possible(earlier) || is_at_most_possible(later)) return Certainty::Possible;
  const Evidence known = weaker(earlier, later);
  if (known == Evidence::Widened) return Certainty::Possible;
  if (known == Evidence::Learned) {
    return is_life(earlier) || is_life(later) ? Certainty::Certain : Certainty::Possible;
  }
  if (earlier.exact && later.exact) {
    return may_be_signal(earlier, later) || may_be_signal(later, earlier) ? Certainty::Possible : Certainty::Certain;
  }
  if (!one_surely_writes(earlier, later) || is_doubtful(earlier) || is_doubtful(later)) return Certainty::Possible;
  if (earlier.exact) return exact_meets_inferred(earlier, later, allocation);
  if (later.exact) return exact_meets_inferred(later, earlier, allocation);
  return inferred_meets_inferred(earlier, later);
}

}  // namespace streamsan::ordering
