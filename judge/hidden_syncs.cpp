// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hidden_syncs.h"

#include <algorithm>

#include "judge/explain.h"
#include "judge/mix.h"
#include "judge/site_reader.h"

namespace streamsan::judge {
namespace {

using ordering::SiteId;

/// The line of Python that made the call; the site itself where there is none.
std::uint64_t place_key(SiteId site, const Places& places) {
  std::uint64_t key = mix(0x486964ull, 1);
  const std::vector<const PythonFrame*> frames = places.python_frames(site);
  if (frames.empty()) return mix(key, static_cast<std::uint64_t>(site));
  for (const PythonFrame* frame : frames) key = mix(key, reinterpret_cast<std::uintptr_t>(frame));
  return key;
}

std::string reason(const HiddenSync& sync, const std::string& what) {
  switch (sync.wait) {
    case Wait::Synchronises:
      return what + " returns when the GPU has done what it waits for.";
    case Wait::Copies:
      return what + " returns when the copy is complete, and that is after all earlier work of its stream.";
    case Wait::PageableDownload:
      return "a copy to pageable memory returns when it is complete, though the call is named asynchronous (R-CPY-14).";
    case Wait::PageableUpload:
      return "the driver stages a copy of this size from pageable memory and makes the host wait meanwhile, though the "
             "call is named asynchronous (R-CPY-13).";
    case Wait::Frees:
      return what + " waits for all work of the device (R-ALC-02, R-ALC-05).";
    case Wait::Allocates:
      return what +
             " may wait for work of the device, by NVIDIA's programming guide; today's driver does not (R-ALC-01).";
  }
  return "";
}

std::string advice(Wait wait) {
  switch (wait) {
    case Wait::Synchronises:
      return "keep the value on the GPU, or read it later, once an event recorded after it has completed "
             "(non_blocking copies to pinned memory and event.query() in PyTorch); if the wait is meant, put it into "
             "streamsan.allow_sync().";
    case Wait::Copies:
    case Wait::PageableDownload:
    case Wait::PageableUpload:
      return "copy asynchronously, between the GPU and pinned memory (in PyTorch: pin_memory() and non_blocking=True), "
             "and wait later; if the wait is meant, put it into streamsan.allow_sync().";
    case Wait::Frees:
    case Wait::Allocates:
      return "allocate before, and free after the part that must not wait, or use memory in the order of a stream "
             "(cudaMallocAsync); if it is meant, put it into streamsan.allow_sync().";
  }
  return "";
}

}  // namespace

const HiddenSyncs::Thread* HiddenSyncs::find(std::uint16_t thread) const {
  const auto it = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.number == thread; });
  return it == threads_.end() ? nullptr : &*it;
}

void HiddenSyncs::say(std::uint16_t thread, trace::HostWaitsState state, SiteId site) {
  auto* known = const_cast<Thread*>(find(thread));
  if (!known) known = &threads_.emplace_back(Thread{.number = thread});
  // Where the outermost one began is where waits became a fault; allowed ones in between do not change that.
  if (state == trace::HostWaitsState::Forbidden && known->state == trace::HostWaitsState::Unwatched)
    known->region = site;
  known->state = state;
}

bool HiddenSyncs::forbidden(std::uint16_t thread) const {
  const Thread* known = find(thread);
  return known && known->state == trace::HostWaitsState::Forbidden;
}

void HiddenSyncs::met(Wait wait, std::uint16_t thread, SiteId site, const StreamLife* stream, const Places& places,
                      const Marks& marks, std::uint64_t position) {
  std::uint32_t& index = index_[place_key(site, places)];
  const MarkId test = marks.at(trace::MarkLevel::Test, position);
  if (index != 0) {
    HiddenSync& known = kept_[index - 1];
    // The other calls of the line are not counted.
    known.count += known.site == site;
    return known.tests.add(test);
  }
  HiddenSync& fresh = kept_.emplace_back();
  index = static_cast<std::uint32_t>(kept_.size());
  fresh.wait = wait;
  fresh.site = site;
  fresh.region = find(thread)->region;
  if (stream) {
    fresh.stream = *stream;
    fresh.on_stream = true;
  }
  fresh.tests.add(test);
  fresh.part = marks.at(trace::MarkLevel::Part, position);
}

std::vector<report::Finding> HiddenSyncs::explain(const Places& places, Symbolizer& symbolizer,
                                                  const Marks& marks) const {
  SiteReader sites(places, symbolizer);
  for (const HiddenSync& sync : kept_) {
    sites.want(sync.site);
    sites.want(sync.region);
  }
  FoldedFindings out;
  for (const HiddenSync& sync : kept_) {
    report::Finding finding;
    finding.kind = report::Kind::HiddenSync;
    finding.severity = report::Severity::Error;
    finding.hazard = report::Hazard::SyncForbidden;
    finding.cause = report::Word<report::Cause>::of(finding.hazard.text());
    const std::string what = sites.what(sync.site);
    const report::Stream stream = sync.on_stream ? stream_report(sync.stream) : report::Stream{.name = "the host"};
    finding.message = "the host waits in " + what + " where the program allows no wait.";
    finding.explanation = reason(sync, what);
    finding.fix = advice(sync.wait);
    finding.related.push_back(
        {.what = what, .api = sites.function(sync.site), .stream = stream, .stack = sites.stack(sync.site)});
    if (sync.region != ordering::kNoSite) {
      finding.related.push_back({.what = "waits are forbidden from here on", .stack = sites.stack(sync.region)});
    }
    finding.tests = sync.tests.names(marks);
    finding.mark = marks.name(sync.part);
    Fingerprint print;
    print.add(finding.hazard.text());
    sites.add_to(print, sync.site);
    finding.fingerprint = print.text();
    finding.count = sync.count;
    out.add(std::move(finding));
  }
  return out.take();
}

}  // namespace streamsan::judge
