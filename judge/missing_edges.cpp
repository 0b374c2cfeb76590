// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/missing_edges.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace streamsan::judge {
namespace {

using ordering::HazardKind;
using ordering::NearestEdge;

bool is_of_order(HazardKind kind) {
  switch (kind) {
    case HazardKind::ReadAfterWrite:
    case HazardKind::WriteAfterRead:
    case HazardKind::WriteAfterWrite:
    case HazardKind::UseBeforeAllocate:
    case HazardKind::FreeWhileInUse:
      return true;
    case HazardKind::UseAfterFree:
    case HazardKind::ReleaseWhileInUse:
    case HazardKind::ReuseWhileInUse:
      return false;
  }
  return false;
}

/// Is the repair a wait, or a change of one?
bool is_repaired_by_wait(NearestEdge nearest) {
  switch (nearest) {
    case NearestEdge::None:
    case NearestEdge::EventRecordedTooEarly:
    case NearestEdge::EventNeverRecorded:
    case NearestEdge::EventNotWaitedFor:
    case NearestEdge::SyncTooEarly:
    case NearestEdge::NonBlockingStream:
    case NearestEdge::OtherDevice:
      return true;
    case NearestEdge::DependentLaunch:
    case NearestEdge::LaunchEvent:
    case NearestEdge::SourceOrder:
    case NearestEdge::NoPathInGraph:
      return false;
  }
  return false;
}

bool can_be_grouped(const ordering::Hazard& hazard) {
  using ordering::Access;
  return is_of_order(hazard.kind) && is_repaired_by_wait(hazard.explanation.nearest) && hazard.earlier.on_stream &&
         hazard.earlier.moment != Access::kNeverSeen && hazard.later.moment != Access::kNeverSeen &&
         hazard.earlier.moment < hazard.later.moment;
}

/// Equal for hazards whose explanations differ in the accesses only.
auto kind_of_edge(const KeptHazard& kept) {
  const ordering::Hazard& hazard = kept.hazard;
  const ordering::Explanation& why = hazard.explanation;
  const ordering::StreamId later = hazard.later.on_stream ? hazard.later.stream : ordering::StreamId{};
  return std::tuple(hazard.earlier.stream, hazard.later.on_stream, later, hazard.earlier.thread, hazard.later.thread,
                    why.nearest, why.event, why.record, why.wait, kept.failed ? kept.failed->site : ordering::kNoSite);
}

}  // namespace

std::vector<MissingEdge> missing_edges(std::span<const KeptHazard* const> hazards) {
  std::map<decltype(kind_of_edge(*hazards[0])), std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < hazards.size(); ++i) {
    if (can_be_grouped(hazards[i]->hazard)) alike[kind_of_edge(*hazards[i])].push_back(i);
  }
  const auto begins = [&](std::size_t i) { return hazards[i]->hazard.earlier.moment; };
  const auto ends = [&](std::size_t i) { return hazards[i]->hazard.later.moment; };
  std::vector<MissingEdge> out;
  for (auto& [kind, open] : alike) {
    std::sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(ends(a), begins(a), a) < std::tuple(ends(b), begins(b), b);
    });
    while (open.size() > 1) {
      MissingEdge edge{.repairs = {}, .last_earlier = open.front(), .first_later = open.front()};
      const std::uint64_t end = ends(open.front());
      std::erase_if(open, [&](std::size_t i) {
        if (begins(i) >= end) return false;
        if (begins(i) > begins(edge.last_earlier)) edge.last_earlier = i;
        edge.repairs.push_back(i);
        return true;
      });
      if (edge.repairs.size() == 1) continue;
      std::sort(edge.repairs.begin(), edge.repairs.end());
      out.push_back(std::move(edge));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const MissingEdge& a, const MissingEdge& b) { return a.repairs.front() < b.repairs.front(); });
  return out;
}

}  // namespace streamsan::judge
