// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Split, prune, fill, coalesce. interval_shadow.h has the specification; this file keeps the counts right: every
// reference in a segment holds one count of its access in the pool and is one entry of the counters.
#include "ordering/interval_shadow.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

using Reference = IntervalShadow::Reference;
using Segment = IntervalShadow::Segment;

void drop(PlainList<Reference>& references, AccessPool& pool, ShadowCounters& counters) {
  for (const Reference& reference : references) pool.release(reference.access);
  counters.entries -= references.size();
  references.clear();
}

void add(PlainList<Reference>& references, const Reference& access, AccessPool& pool, ShadowCounters& counters) {
  references.push_back(access);
  pool.acquire(access.access);
  ++counters.entries;
}

template <typename Condition>
void remove_if(PlainList<Reference>& references, Condition condition, AccessPool& pool, ShadowCounters& counters) {
  references.erase_if([&](const Reference& reference) {
    if (!condition(reference)) return false;
    pool.release(reference.access);
    --counters.entries;
    return true;
  });
}

/// remember() of the naive specification, for the bytes of one segment.
void supersede(PlainList<Reference>& references, const Reference& access, const VectorClock& clock, AccessPool& pool,
               ShadowCounters& counters) {
  remove_if(
      references,
      [&](const Reference& earlier) {
        return stands_for(access, earlier) && clock.covers(earlier.lane, earlier.epoch);
      },
      pool, counters);
  add(references, access, pool, counters);
}

Segment part_of(const Segment& whole, Range range, AccessPool& pool, ShadowCounters& counters) {
  Segment part{range, whole.references};
  for (const Reference& reference : part.references) pool.acquire(reference.access);
  counters.entries += part.references.size();
  return part;
}

Epoch newest(const Segment& segment, const AccessPool& pool) {
  OpId newest{};
  for (const Reference& reference : segment.references) newest = std::max(newest, pool[reference.access].op);
  return static_cast<Epoch>(newest);
}

}  // namespace

std::size_t IntervalShadow::first_ending_after(Address address) const {
  // By arithmetic: each branch of an ordinary search would be predicted wrongly every other time.
  std::size_t first = 0;
  for (std::size_t count = segments_.size(); count != 0;) {
    const std::size_t half = (count + 1) / 2;
    first += half * static_cast<std::size_t>(segments_[first + half - 1].range.end <= address);
    count -= half;
  }
  return first;
}

void IntervalShadow::remember(Range range, const Reference& access, const VectorClock& clock, AccessPool& pool,
                              ShadowCounters& counters) {
  const std::size_t first = first_ending_after(range.begin);
  if (first < segments_.size() && segments_[first].range == range) {
    supersede(segments_[first].references, access, clock, pool, counters);
    coalesce(first, first + 1, pool, counters);
    return;
  }

  const bool is_new = first == segments_.size() || segments_[first].range.begin >= range.end;
  if (is_new && !range.empty()) {  // as below, without the way through rebuilt_
    Segment& made =
        *segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(first), {range, std::move(spare_)});
    add(made.references, access, pool, counters);
    coalesce(first, first + 1, pool, counters);
    if (segments_.size() > kMostSegments) forget_older_half(pool, counters);
    return;
  }

  std::size_t last = first;
  while (last < segments_.size() && segments_[last].range.begin < range.end) ++last;
  rebuilt_.clear();
  Address covered = range.begin;  // bytes of the range before this are rebuilt
  const auto fill_gap_to = [&](Address end) {
    if (covered >= end) return;
    rebuilt_.push_back({{covered, end}, std::move(spare_)});
    add(rebuilt_.back().references, access, pool, counters);
    covered = end;
  };
  for (std::size_t i = first; i < last; ++i) {
    Segment& old = segments_[i];
    if (old.range.begin < range.begin) {
      rebuilt_.push_back(part_of(old, {old.range.begin, range.begin}, pool, counters));
    }
    fill_gap_to(std::min(old.range.begin, range.end));
    const Range middle = intersection(old.range, range);
    if (old.range.end > range.end) {
      Segment tail = part_of(old, {range.end, old.range.end}, pool, counters);
      rebuilt_.push_back({middle, std::move(old.references)});
      supersede(rebuilt_.back().references, access, clock, pool, counters);
      rebuilt_.push_back(std::move(tail));
    } else {
      rebuilt_.push_back({middle, std::move(old.references)});
      supersede(rebuilt_.back().references, access, clock, pool, counters);
    }
    covered = middle.end;
  }
  fill_gap_to(range.end);

  const std::size_t replaced = last - first;
  const std::size_t reused = std::min(replaced, rebuilt_.size());
  std::move(rebuilt_.begin(), rebuilt_.begin() + static_cast<std::ptrdiff_t>(reused),
            segments_.begin() + static_cast<std::ptrdiff_t>(first));
  if (rebuilt_.size() > replaced) {
    segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(last),
                     std::make_move_iterator(rebuilt_.begin() + static_cast<std::ptrdiff_t>(reused)),
                     std::make_move_iterator(rebuilt_.end()));
  } else {
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(first + reused),
                    segments_.begin() + static_cast<std::ptrdiff_t>(last));
  }
  coalesce(first, first + rebuilt_.size(), pool, counters);
  if (segments_.size() > kMostSegments) forget_older_half(pool, counters);
}

/// Joins equal neighbours among segments [from, to) and those beside them.
void IntervalShadow::coalesce(std::size_t from, std::size_t to, AccessPool& pool, ShadowCounters& counters) {
  std::size_t kept = from > 0 ? from - 1 : 0;
  const std::size_t end = std::min(to + 1, segments_.size());
  for (std::size_t i = kept + 1; i < end; ++i) {
    Segment& left = segments_[kept];
    Segment& right = segments_[i];
    if (left.range.end == right.range.begin && left.references == right.references) {
      left.range.end = right.range.end;
      drop(right.references, pool, counters);
    } else if (++kept != i) {
      segments_[kept] = std::move(right);
    }
  }
  if (kept + 1 < end) {
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(kept + 1),
                    segments_.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

void IntervalShadow::forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  for (Segment& segment : segments_) {
    remove_if(segment.references, [&](const Reference& r) { return clock.covers(r.lane, r.epoch); }, pool, counters);
  }
  std::erase_if(segments_, [](const Segment& segment) { return segment.references.empty(); });
}

void IntervalShadow::forget_older_half(AccessPool& pool, ShadowCounters& counters) {
  if (segments_.size() < 2) return;
  std::vector<Epoch> ages;
  ages.reserve(segments_.size());
  for (const Segment& segment : segments_) ages.push_back(newest(segment, pool));
  const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
  std::nth_element(ages.begin(), middle, ages.end());
  for (Segment& segment : segments_) {
    if (newest(segment, pool) >= *middle) continue;
    counters.forgotten += segment.references.size();
    drop(segment.references, pool, counters);
  }
  std::erase_if(segments_, [](const Segment& segment) { return segment.references.empty(); });
}

void IntervalShadow::clear(AccessPool& pool, ShadowCounters& counters) {
  for (Segment& segment : segments_) drop(segment.references, pool, counters);
  if (!segments_.empty()) spare_ = std::move(segments_.front().references);
  segments_.clear();
  if (segments_.capacity() > kFewSegments) segments_.shrink_to_fit();
  rebuilt_.clear();
  if (rebuilt_.capacity() > kFewSegments) rebuilt_.shrink_to_fit();
}

}  // namespace streamsan::ordering
