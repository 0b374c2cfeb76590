// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_copies.h"

#include "judge/frames.h"
#include "judge/framework.h"
#include "judge/transfers.h"
#include "report/text.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using trace::Kind;
using trace::Record;

namespace {

constexpr double kLostPerMicrosecond = 18'000;  // bytes: what a copy of pageable memory takes longer than one of pinned
constexpr double kWaitMicroseconds = 6;

/// How the program gets pinned memory, in the words of what it is written with.
std::string pinned_memory(const std::vector<report::Frame>& stack) {
  for (const report::Frame& frame : stack) {
    switch (framework_of(frame)) {
      case Framework::None:
        break;
      case Framework::PyTorch:
        return "pin_memory() or DataLoader(pin_memory=True)";
      case Framework::CuPy:
        return "cupyx.empty_pinned";
      case Framework::Numba:
        return "cuda.pinned_array";
    }
  }
  return runtime_call(stack).empty() ? "cuMemAllocHost" : "cudaMallocHost";
}

}  // namespace

void CopyHints::copy(const Seen& seen) {
  const Record& record = seen.record();
  const PageableWay way = pageable_way(record, seen.judge.model());
  if (way == PageableWay::None) return;
  const ordering::SiteId site = site_of(seen);
  std::uint32_t& index = by_site_[static_cast<std::uint64_t>(site)];
  if (index == 0) {
    Tally& fresh = tallies_.emplace_back();
    index = static_cast<std::uint32_t>(tallies_.size());
    fresh.site = site;
    fresh.first = seen.first;
    fresh.to_device = way == PageableWay::ToDevice;
    if (const StreamLife* life = seen.judge.handles().life(seen.judge.stream_of(record))) fresh.stream = *life;
  }
  Tally& tally = tallies_[index - 1];
  const std::uint64_t bytes = bytes_of_copy(seen.item);
  ++tally.copies;
  tally.bytes += bytes;
  if (bytes > kStagedAtOnce) {
    if (tally.large++ == 0 || seen.kernels != tally.last_kernels) ++tally.turns;
    tally.large_bytes += bytes;
    tally.last_kernels = seen.kernels;
  }
  if (untimed_.size() < kMostUntimed) untimed_[seen.item.position] = {index - 1, bytes};
  if (way == PageableWay::ToHost) downloads_[record.thread] = index;
}

void CopyHints::timed(const Record& record) {
  const auto& w = record.as<Kind::GpuTime>();
  const Untimed* copy = untimed_.find(w.position);
  if (!copy || w.end < w.start) return;
  Tally& tally = tallies_[copy->tally];
  tally.timed_bytes += copy->bytes;
  tally.gpu_time += w.end - w.start;
  untimed_.erase(w.position);
}

void CopyHints::observe(const Seen& seen) {
  const Record& record = seen.record();
  if (record.kind == Kind::GpuTime) return timed(record);
  if (waits(record)) {
    if (std::uint32_t* download = downloads_.find(record.thread)) *download = 0;
    return;
  }
  if (!seen.made_operation()) return;
  if (record.kind == Kind::Copy) return copy(seen);
  if (!is_kernel(record.kind)) return;
  std::uint32_t* download = downloads_.find(record.thread);
  if (!download || *download == 0) return;
  ++tallies_[*download - 1].waits;
  *download = 0;
}

void CopyHints::want(SiteReader& sites) const {
  for (const Tally& tally : tallies_) {
    if (tally.many_bytes() || tally.many_waits()) sites.want(tally.site);
  }
}

void CopyHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  for (const Tally& tally : tallies_) {
    if (!tally.many_bytes() && !tally.many_waits()) continue;
    const std::string side = tally.to_device ? "from" : "to";
    HintText text;
    text.hazard = report::Hazard::PageableCopy;
    text.message = std::to_string(tally.copies) + " asynchronous copies " + side + " pageable host memory, " +
                   bytes_text(tally.bytes) + " in all.";
    if (tally.many_bytes()) {
      text.evidence = std::to_string(tally.large) + " of " + std::to_string(tally.copies) +
                      " copies are of more than " + bytes_text(kStagedAtOnce) + ", " + bytes_text(tally.large_bytes) +
                      " in all, with kernels between " + std::to_string(tally.turns) + " of them. ";
    }
    if (tally.many_waits()) {
      text.evidence += "After " + std::to_string(tally.waits) + " of " + std::to_string(tally.copies) +
                       " copies the host went on to launch kernels and waited for nothing: it had waited in the copy. ";
    }
    if (tally.gpu_time != 0) {
      text.evidence +=
          "They took " + time_text(tally.gpu_time) + " on the GPU for " + bytes_text(tally.timed_bytes) + ". ";
    }
    text.evidence +=
        "A copy of pageable memory is staged through a pinned buffer of the driver, may block the host and does not "
        "overlap with other work.";
    text.fix = "use pinned memory, from " + pinned_memory(sites.stack(tally.site)) +
               (tally.many_waits() ? ", and wait where the host needs the data." : ".");
    text.microseconds = static_cast<double>(tally.large_bytes) / kLostPerMicrosecond +
                        static_cast<double>(tally.waits) * kWaitMicroseconds;
    text.where.push_back({tally.site, tally.stream, tally.first});
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge
