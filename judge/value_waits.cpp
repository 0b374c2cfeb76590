// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/value_waits.h"

#include <algorithm>

#include "ordering/rows.h"

namespace streamsan::judge {
namespace {

// Of what is beyond these the oldest is forgotten: a wait counts as over, a hazard stays possible, and a value as not
// written.
constexpr std::size_t kMostWaits = 256;
constexpr std::size_t kMostKept = 4096;
constexpr std::size_t kMostWords = 65536;
constexpr std::size_t kMostStreams = 4096;

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

void ValueWaits::wait(ordering::StreamId stream, std::uint64_t op, const ValueWait& wait) {
  const auto known = written_.find(wait.address);
  if (known != written_.end() && wait.ends_with(known->second)) return;
  if (streams_.size() == kMostStreams && !streams_.contains(stream)) streams_.erase(streams_.begin());
  std::vector<Wait>& waits = streams_[stream].waits;
  if (waits.size() == kMostWaits) waits.erase(waits.begin());
  waits.push_back({op, wait});
}

void ValueWaits::keep(const ordering::Hazard& hazard, ordering::Hazard::Awaits awaits, std::uint32_t index) {
  const bool earlier = awaits == ordering::Hazard::Awaits::Earlier;
  std::vector<Kept>& kept = streams_[(earlier ? hazard.earlier : hazard.later).stream].kept;
  const ordering::Access& other = earlier ? hazard.later : hazard.earlier;
  if (other.on_stream && kept.size() < kMostKept)
    kept.push_back({static_cast<std::uint64_t>(hazard.earlier.op), other.stream, index});
}

ValueWaits::Ended ValueWaits::write(ordering::StreamId writer, std::uint64_t address, std::uint64_t value) {
  if (written_.size() == kMostWords) written_.clear();
  written_[address] = value;
  Ended ended;
  for (auto it = streams_.begin(); it != streams_.end();) {
    auto& [stream, waiting] = *it;
    std::uint64_t first = ~std::uint64_t{0};  // of the waits that are over
    // What a stream writes behind its own wait cannot end that.
    if (stream != writer) {
      std::erase_if(waiting.waits, [&](const Wait& wait) {
        const bool over = wait.until.address == address && wait.until.ends_with(value);
        if (over) first = std::min(first, wait.op);
        return over;
      });
    }
    if (first != ~std::uint64_t{0}) {
      ended.streams.push_back(stream);
      std::erase_if(waiting.kept, [&, first](const Kept& kept) {
        const bool harmless = kept.other == writer && kept.op > first;
        if (harmless) ended.harmless.push_back(kept.index);
        return harmless;
      });
    }
    it = waiting.waits.empty() ? streams_.erase(it) : std::next(it);
  }
  return ended;
}

void ValueWaits::overwritten(const ordering::Footprint& bytes) {
  constexpr std::uint64_t kWidest = 8;
  if (written_.empty()) return;
  const ordering::Range range = ordering::hull(bytes);
  if (range.empty()) return;
  const std::uint64_t begin = range.begin < kWidest ? 0 : range.begin - kWidest + 1;
  written_.erase(written_.lower_bound(begin), written_.lower_bound(range.end));
}

std::vector<ordering::StreamId> ValueWaits::waiting() const {
  std::vector<ordering::StreamId> streams;
  for (const auto& [stream, waiting] : streams_) streams.push_back(stream);
  return streams;
}

void ValueWaits::complete(ordering::StreamId stream, std::uint64_t op) {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) return;
  std::erase_if(known->second.waits, [op](const Wait& wait) { return wait.op <= op; });
  if (known->second.waits.empty()) streams_.erase(known);
}

bool ValueWaits::may_wait(const ordering::Access& access, const ordering::Hazard& hazard) const {
  if (!access.on_stream) return false;
  const auto known = streams_.find(access.stream);
  if (known == streams_.end()) return false;
  const auto earlier = static_cast<std::uint64_t>(hazard.earlier.op);
  return std::ranges::any_of(known->second.waits, [earlier](const Wait& wait) { return wait.op < earlier; });
}

ordering::Hazard::Awaits ValueWaits::who_waits(const ordering::Hazard& hazard) const {
  using Awaits = ordering::Hazard::Awaits;
  // Memory that ends or goes back must not be used behind the wait either, nor before it begins.
  if (streams_.empty() || hazard.kind > ordering::HazardKind::WriteAfterWrite) return Awaits::No;
  if (may_wait(hazard.earlier, hazard)) return Awaits::Earlier;
  return may_wait(hazard.later, hazard) ? Awaits::Later : Awaits::No;
}

}  // namespace streamsan::judge
