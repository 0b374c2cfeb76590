// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/times.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "report/text.h"

namespace streamsan::judge {

using trace::Kind;
using trace::Record;

namespace {

/// By so much the GPU's times, which are converted to the host's clock, may seem to be later than a return that waited.
constexpr std::uint64_t kClockError = 50'000;  // ns

constexpr double ms(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string shown(double span_ms) {
  char text[48];
  if (span_ms >= 10'000) {
    std::snprintf(text, sizeof text, "%.1f s", span_ms / 1000);
  } else {
    std::snprintf(text, sizeof text, span_ms >= 100 ? "%.0f ms" : span_ms >= 1 ? "%.1f ms" : "%.3f ms", span_ms);
  }
  return text;
}

bool runs_on_gpu(Kind kind) {
  return kind == Kind::Launch || kind == Kind::Copy || kind == Kind::Fill || kind == Kind::GraphLaunch;
}

/// Calls whose CallEnd may have the times.
bool may_block(const Record& record) {
  switch (record.kind) {
    case Kind::Copy:
    case Kind::Fill:
      return !(record.flags & trace::kAsyncForm);
    case Kind::SyncStream:
    case Kind::SyncEvent:
    case Kind::SyncContext:
    case Kind::Free:
      return true;
    default:
      return false;
  }
}

/// Would operations of the two streams have waited for each other even without the host?
bool ordered_anyway(ordering::StreamKind a, ordering::StreamKind b) {
  using ordering::StreamKind;
  return (a == StreamKind::Legacy && b != StreamKind::NonBlocking) ||
         (b == StreamKind::Legacy && a != StreamKind::NonBlocking);
}

}  // namespace

void Times::observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) {
  const Record& record = *item.record;
  if (record.kind == Kind::GpuTime) return add_time(record);
  if (record.kind == Kind::CallEnd) return end_call(item);
  if (item.cancelled) return;
  if (runs_on_gpu(record.kind) && first <= last) add_operation(item);
  if (may_block(record) && record.thread != kOverflowThread) begin_call(item);
}

void Times::note_moment(std::uint64_t time) {
  first_moment_ = std::min(first_moment_, time);
  last_moment_ = std::max(last_moment_, time);
}

void Times::begin_call(const trace::Item& item) {
  Pending& pending = threads_[item.record->thread];
  pending.position = item.position;
  pending.site = judge_.site_of(*item.record);
}

void Times::end_call(const trace::Item& item) {
  const Record& record = *item.record;
  auto found = threads_.find(record.thread);
  const auto& w = record.as<Kind::CallEnd>();
  if (found == threads_.end() || found->second.position != w.position) return;
  Pending& pending = found->second;
  pending.position = UINT64_MAX;
  const std::uint64_t begin = w.made;
  const std::uint64_t end = w.returned;
  if (item.cancelled || begin == 0 || end < begin) return;
  note_moment(begin);
  note_moment(end);
  Sum& sum = sites_[static_cast<std::uint32_t>(pending.site)];
  ++sum.cost.calls;
  sum.blocked += end - begin;
  ++totals_.calls;
  totals_.blocked_ms += ms(end - begin);
  if (pending.last_sync != UINT64_MAX && pending.last_sync >= judged_)
    syncs_[pending.last_sync - judged_].until = w.position;
  pending.last_sync = judged_ + syncs_.size();
  syncs_.push_back(
      {.position = item.position, .begin = begin, .end = end, .site = pending.site, .thread = record.thread});
}

void Times::add_operation(const trace::Item& item) {
  const ordering::StreamId stream = judge_.stream_of(*item.record);
  const StreamLife* life = judge_.handles().life(stream);
  ++totals_.operations;
  ops_.push_back({.position = item.position,
                  .stream = stream,
                  .thread = item.record->thread,
                  .kind = life ? life->kind : ordering::StreamKind::Blocking});
  forget();
}

std::size_t Times::first_after(std::uint64_t position) const {
  auto at = std::upper_bound(ops_.begin(), ops_.end(), position,
                             [](std::uint64_t value, const Op& op) { return value < op.position; });
  return static_cast<std::size_t>(at - ops_.begin());
}

void Times::add_time(const Record& record) {
  const auto& w = record.as<Kind::GpuTime>();
  const std::uint64_t start = w.start;
  const std::uint64_t end = w.end;
  if (start == 0 || end < start) return;
  const std::size_t after = first_after(w.position);
  if (after == 0 || ops_[after - 1].position != w.position) {
    ++totals_.late;
    return;
  }
  Op& op = ops_[after - 1];
  totals_.timed += op.timed() ? 0 : 1;
  totals_.gpu_busy_ms += ms(end - start);
  op.start = op.timed() ? std::min(op.start, start) : start;
  op.end = std::max(op.end, end);
  note_moment(start);
  note_moment(end);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> Times::gpu_time(std::uint64_t position) const {
  const std::size_t after = first_after(position);
  if (after == 0 || ops_[after - 1].position != position || !ops_[after - 1].timed()) return std::nullopt;
  return std::pair(ops_[after - 1].start, ops_[after - 1].end);
}

/// How much of the span some operation ran in.
std::uint64_t Times::busy_within(Span span, std::size_t middle) const {
  std::vector<Span> busy;
  auto add = [&](std::uint64_t begin, std::uint64_t end) {
    begin = std::max(begin, span.begin);
    end = std::min(end, span.end);
    if (begin < end) busy.push_back({begin, end});
  };
  add(longest_.begin, longest_.end);
  for (std::size_t i = window_begin(middle); i < window_end(middle); ++i) {
    if (ops_[i].timed()) add(ops_[i].start, ops_[i].end);
  }
  std::sort(busy.begin(), busy.end(), [](Span a, Span b) { return a.begin < b.begin; });
  std::uint64_t sum = 0;
  std::uint64_t reached = span.begin;
  for (Span each : busy) {
    if (each.end <= reached) continue;
    sum += each.end - std::max(each.begin, reached);
    reached = each.end;
  }
  return sum;
}

std::uint64_t Times::idle(const Sync& sync, std::size_t middle) {
  const Op* next = nullptr;
  for (std::size_t i = middle; i < window_end(middle) && !next; ++i) {
    if (ops_[i].thread == sync.thread && ops_[i].timed()) next = &ops_[i];
  }
  if (!next) return 0;
  std::uint64_t& counted = threads_[sync.thread].gap_before;
  if (counted == next->position) return 0;
  std::uint64_t dry = longest_.end <= sync.end + kClockError ? longest_.end : 0;
  for (std::size_t i = window_begin(middle); i < middle; ++i) {
    if (ops_[i].timed() && ops_[i].end <= sync.end + kClockError) dry = std::max(dry, ops_[i].end);
  }
  if (dry == 0 || next->start <= dry) return 0;
  counted = next->position;
  const std::uint64_t gap = next->start - dry - busy_within({dry, next->start}, middle);
  return std::min(gap, sync.end - sync.begin);
}

std::uint64_t Times::overlap(const Sync& sync, std::size_t middle) const {
  struct Lane {
    ordering::StreamId stream;
    ordering::StreamKind kind;
    std::uint64_t held;    ///< until then it has work of before
    std::uint64_t wanted;  ///< how long what came after ran
  };
  std::vector<Lane> lanes;
  auto lane = [&](const Op& op) -> Lane& {
    auto at = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& each) { return each.stream == op.stream; });
    return at != lanes.end() ? *at : lanes.emplace_back(op.stream, op.kind, sync.begin, 0);
  };
  for (std::size_t i = window_begin(middle); i < middle; ++i) {
    const Op& op = ops_[i];
    if (op.timed() && op.end > sync.begin) lane(op).held = std::max(lane(op).held, op.end);
  }
  for (std::size_t i = middle; i < window_end(middle) && ops_[i].position < sync.until; ++i) {
    if (ops_[i].thread == sync.thread && ops_[i].timed()) lane(ops_[i]).wanted += ops_[i].end - ops_[i].start;
  }
  std::uint64_t sum = 0;
  std::uint64_t longest = 0;
  for (const Lane& after : lanes) {
    if (after.wanted == 0) continue;
    std::uint64_t until = 0;  // the last that was waited for and that it could have run beside
    for (const Lane& before : lanes) {
      const bool waited_for = before.held > sync.begin && before.held <= sync.end + kClockError;
      if (waited_for && before.stream != after.stream && !ordered_anyway(before.kind, after.kind))
        until = std::max(until, before.held);
    }
    if (until <= after.held) continue;
    sum += std::min(after.wanted, until - after.held);
    longest = std::max(longest, until - sync.begin);
  }
  return std::min(sum, longest);
}

void Times::judge_sync(const Sync& sync) {
  const std::size_t middle = first_after(sync.position);
  pass(dropped_ + window_begin(middle));
  Sum& sum = sites_[static_cast<std::uint32_t>(sync.site)];
  const std::uint64_t idled = idle(sync, middle);
  const std::uint64_t lost = overlap(sync, middle);
  sum.idle += idled;
  sum.overlap += lost;
  totals_.gpu_idle_ms += ms(idled);
  totals_.overlap_ms += ms(lost);
}

/// Judges calls that enough has followed, and drops operations that none of the remaining ones looks at.
void Times::forget() {
  while (!syncs_.empty() && ops_.size() >= patience_ + kAround &&
         ops_.size() - first_after(syncs_.front().position) >= patience_) {
    judge_sync(syncs_.front());
    syncs_.pop_front();
    ++judged_;
  }
  while (ops_.size() > patience_ + 2 * kAround) {
    pass(dropped_ + 1);
    ops_.pop_front();
    ++dropped_;
  }
}

/// All operations before the number are over as far as further calls are concerned.
void Times::pass(std::uint64_t operations) {
  for (; passed_ < operations; ++passed_) {
    const Op& op = ops_[passed_ - dropped_];
    if (op.timed() && op.end > longest_.end) longest_ = {op.start, op.end};
  }
}

void Times::finish() {
  for (const Sync& sync : syncs_) judge_sync(sync);
  judged_ += syncs_.size();
  syncs_.clear();
  totals_.span_ms = last_moment_ > first_moment_ ? ms(last_moment_ - first_moment_) : 0;
  for (auto& [site, sum] : sites_) {
    sum.cost.blocked_ms = ms(sum.blocked);
    if (totals_.timed == 0) continue;
    sum.cost.gpu_idle_ms = ms(sum.idle);
    sum.cost.overlap_ms = ms(sum.overlap);
  }
}

const SyncCost* Times::cost(ordering::SiteId site) const {
  auto found = sites_.find(static_cast<std::uint32_t>(site));
  return found == sites_.end() ? nullptr : &found->second.cost;
}

std::string Times::text() const {
  if (totals_.calls == 0) return {};
  std::string out = "the host was blocked for " + shown(totals_.blocked_ms) + " of " + shown(totals_.span_ms) + " in " +
                    report::counted(totals_.calls, "blocking call");
  if (totals_.timed == 0) return out;
  out += "; because of it the GPU idled for up to " + shown(totals_.gpu_idle_ms) + ", and up to " +
         shown(totals_.overlap_ms) + " of work could have overlapped";
  if (totals_.timed < totals_.operations)
    out += " (times of " + std::to_string(totals_.timed) + " of " + std::to_string(totals_.operations) + " operations)";
  return out;
}

}  // namespace streamsan::judge
