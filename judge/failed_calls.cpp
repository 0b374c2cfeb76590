// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/failed_calls.h"

#include <algorithm>
#include <array>

#include "report/text.h"

namespace streamsan::judge {
namespace {

using api::EffectKind;
using ordering::NearestEdge;

struct ResultName {
  std::uint32_t result;
  const char* text;
};

/// The results that calls on streams and events give; the numbers are those of cuda.h.
constexpr std::array kResults{
    ResultName{1, "invalid argument"},
    ResultName{2, "out of memory"},
    ResultName{3, "driver not initialised"},
    ResultName{4, "driver shutting down"},
    ResultName{101, "invalid device"},
    ResultName{201, "invalid context"},
    ResultName{400, "invalid resource handle"},
    ResultName{401, "illegal state"},
    ResultName{700, "illegal memory access"},
    ResultName{701, "too many resources requested for launch"},
    ResultName{702, "launch timed out"},
    ResultName{709, "context is destroyed"},
    ResultName{710, "device-side assert"},
    ResultName{714, "hardware stack error"},
    ResultName{715, "illegal instruction"},
    ResultName{716, "misaligned address"},
    ResultName{717, "invalid address space"},
    ResultName{718, "invalid program counter"},
    ResultName{719, "launch failed"},
    ResultName{800, "not permitted"},
    ResultName{801, "not supported"},
    ResultName{900, "not permitted while a stream is being captured"},
    ResultName{901, "capture was invalidated"},
    ResultName{905, "capture is of another stream"},
    ResultName{906, "capture would depend on the legacy stream"},
    ResultName{907, "event is captured"},
};

bool would_order(const FailedCall& call, const ordering::Hazard& hazard) {
  const NearestEdge nearest = hazard.explanation.nearest;
  if (nearest == NearestEdge::DependentLaunch || nearest == NearestEdge::NoPathInGraph ||
      nearest == NearestEdge::SourceOrder)
    return false;
  const bool has_event = nearest == NearestEdge::LaunchEvent || nearest == NearestEdge::EventNeverRecorded ||
                         nearest == NearestEdge::EventNotWaitedFor || nearest == NearestEdge::EventRecordedTooEarly;
  const bool of_event = has_event && call.event == hazard.explanation.event;
  const bool of_earlier = hazard.earlier.on_stream && call.stream == hazard.earlier.stream;
  switch (call.row->effect.kind) {
    case EffectKind::EventRecord:
      return has_event && nearest != NearestEdge::EventNotWaitedFor ? of_event : of_earlier || of_event;
    case EffectKind::EventWait:
      return hazard.later.on_stream && call.stream == hazard.later.stream && (!has_event || of_event);
    case EffectKind::ContextRecord:
    case EffectKind::SyncEvent:
      return of_event;
    case EffectKind::SyncStream:
      return of_earlier;
    case EffectKind::ContextWait:
    case EffectKind::SyncContext:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string result_text(std::uint32_t result) {
  auto known = std::find_if(kResults.begin(), kResults.end(), [&](const ResultName& n) { return n.result == result; });
  return (known == kResults.end() ? std::string("error") : known->text) + " (" + std::to_string(result) + ")";
}

void FailedCalls::add(FailedCall call) {
  ++total_;
  ++counts_[{std::string(call.row->base), call.result}];
  if (last_.size() == kMost) last_.pop_front();
  last_.push_back(call);
}

const FailedCall* FailedCalls::behind(const ordering::Hazard& hazard) const {
  for (auto call = last_.rbegin(); call != last_.rend(); ++call) {
    if (call->operations < static_cast<std::uint64_t>(hazard.earlier.op)) return nullptr;
    if (call->operations < static_cast<std::uint64_t>(hazard.later.op) && would_order(*call, hazard)) return &*call;
  }
  return nullptr;
}

const FailedCall* FailedCalls::record_of(ordering::EventId event) const {
  auto call = std::find_if(last_.rbegin(), last_.rend(), [event](const FailedCall& each) {
    return each.row->effect.kind == EffectKind::EventRecord && each.event == event;
  });
  return call == last_.rend() ? nullptr : &*call;
}

std::string FailedCalls::summary() const {
  std::string out;
  for (const auto& [what, count] : counts_) {
    out += (out.empty() ? "" : "; ") + what.first + ": " + result_text(what.second) +
           (count > 1 ? ", " + std::to_string(count) + " times" : "");
  }
  return out.empty() ? out : report::counted(total_, "call") + " failed: " + out;
}

}  // namespace streamsan::judge
