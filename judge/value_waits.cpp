// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/value_waits.h"

#include <algorithm>

namespace streamsan::judge {
namespace {

/// Kept of a stream; older ones count as one.
constexpr std::size_t kMostDoubts = 64;
/// Kept of a stream; those beyond stay possible.
constexpr std::size_t kMostOpen = 4096;

}  // namespace

bool ValueWait::ends_with(std::uint64_t there) const {
  constexpr std::uint32_t kGreaterOrEqual = 0, kEqual = 1, kAnd = 2, kNor = 3;  // the rest are CUDA's other flags
  const std::uint64_t mask = bits == 32 ? 0xffff'ffffull : ~std::uint64_t{0};
  const std::uint64_t sign = bits == 32 ? 1ull << 31 : 1ull << 63;
  switch (how & 3) {
    case kGreaterOrEqual:  // of the difference, so that a counter may wrap
      return ((there - value) & sign) == 0;
    case kEqual:
      return ((there ^ value) & mask) == 0;
    case kAnd:
      return (there & value & mask) != 0;
    case kNor:
    default:
      return (~(there | value) & mask) != 0;
  }
}

bool ValueWaits::wait(ordering::StreamId stream, std::uint64_t op, const ValueWait& wait) {
  const auto known = written_.find(wait.address);
  if (known != written_.end() && wait.ends_with(known->second)) return true;
  Waiting& waiting = streams_[stream];
  waiting.waits.push_back(wait);
  if (!waiting.doubts.empty() && waiting.doubts.back().end == Doubt::kOpen) return false;
  waiting.doubts.push_back({.begin = op});
  if (waiting.doubts.size() > kMostDoubts) {
    waiting.doubts[1].begin = waiting.doubts[0].begin;
    waiting.doubts.pop_front();
  }
  return false;
}

void ValueWaits::close(Waiting& waiting, std::uint64_t op) {
  waiting.waits.clear();
  waiting.open.clear();
  if (!waiting.doubts.empty() && waiting.doubts.back().end == Doubt::kOpen) waiting.doubts.back().end = op;
}

void ValueWaits::keep(const ordering::Hazard& hazard, std::uint32_t index) {
  const bool earlier = hazard.awaits_value == ordering::Hazard::Awaits::Earlier;
  std::vector<Open>& open = streams_[(earlier ? hazard.earlier : hazard.later).stream].open;
  const ordering::Access& other = earlier ? hazard.later : hazard.earlier;
  if (other.on_stream && open.size() < kMostOpen) open.push_back({other.stream, index});
}

ValueWaits::Ended ValueWaits::write(ordering::StreamId writer, std::uint64_t address, std::uint64_t value,
                                    std::uint64_t op) {
  written_[address] = value;
  Ended ended;
  for (auto& [stream, waiting] : streams_) {
    const auto over = [&](const ValueWait& wait) { return wait.address == address && wait.ends_with(value); };
    if (std::erase_if(waiting.waits, over) == 0 || !waiting.waits.empty()) continue;
    for (const Open& open : waiting.open)
      if (open.other == writer) ended.harmless.push_back(open.index);
    close(waiting, op);
    ended.streams.push_back(stream);
  }
  return ended;
}

void ValueWaits::end(ordering::StreamId stream, std::uint64_t op) {
  const auto known = streams_.find(stream);
  if (known != streams_.end()) close(known->second, op);
}

void ValueWaits::end_all(std::uint64_t op) {
  for (auto& [stream, waiting] : streams_) close(waiting, op);
}

bool ValueWaits::may_wait(const ordering::Access& access, const ordering::Hazard& hazard) const {
  if (!access.on_stream) return false;
  const auto known = streams_.find(access.stream);
  if (known == streams_.end()) return false;
  const auto earlier = static_cast<std::uint64_t>(hazard.earlier.op);
  const auto later = static_cast<std::uint64_t>(hazard.later.op);
  return std::ranges::any_of(known->second.doubts,
                             [&](const Doubt& doubt) { return doubt.begin < earlier && later <= doubt.end; });
}

ordering::Hazard::Awaits ValueWaits::who_waits(const ordering::Hazard& hazard) const {
  using Awaits = ordering::Hazard::Awaits;
  // Memory that ends or goes back must not be used behind the wait either, nor before it begins.
  if (streams_.empty() || hazard.kind > ordering::HazardKind::WriteAfterWrite) return Awaits::No;
  if (may_wait(hazard.earlier, hazard)) return Awaits::Earlier;
  return may_wait(hazard.later, hazard) ? Awaits::Later : Awaits::No;
}

}  // namespace streamsan::judge
