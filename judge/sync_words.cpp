// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/sync_words.h"

#include <algorithm>
#include <utility>

#include "judge/explain.h"
#include "judge/frames.h"
#include "report/text.h"

namespace streamsan::judge {

using ordering::Instead;
using Why = ordering::Exposure::Why;

namespace {

constexpr std::size_t kMostNamed = 4;

std::string joined(const std::vector<std::string>& parts, const char* last) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += i + 1 == parts.size() ? std::string(" ") + last + " " : ", ";
    out += parts[i];
  }
  return out;
}

}  // namespace

bool SyncWords::runtime(const SyncSite& site) {
  const std::vector<report::Frame>& stack = sites_.stack(site.cut.site);
  return stack.empty() || !runtime_call(stack).empty();
}

std::string SyncWords::action(const SyncPair& pair, bool later) {
  const ordering::Access& access = later ? pair.later : pair.earlier;
  const StreamLife& stream = later ? pair.later_stream : pair.earlier_stream;
  return sites_.action(access.site, access) + sites_.place(access.site) +
         (access.on_stream ? " on " + stream_report(stream).name : "");
}

std::string SyncWords::waits_for(const SyncSite& site) {
  switch (site.kind) {
    case SyncKind::Device:
      return "all work of the device";
    case SyncKind::Stream:
      if (site.stream.kind == ordering::StreamKind::Legacy) return "the legacy default stream and all blocking streams";
      return stream_report(site.stream).name;
    case SyncKind::Event:
      return "an event";
    case SyncKind::Barrier:
      return "the work of all blocking streams";
    case SyncKind::Copy:
      return "the copy, and for what is before it in its stream";
    case SyncKind::Fill:
      return "the fill, and for what is before it in its stream";
    case SyncKind::Free:
      return "all work of the device";
  }
  return {};
}

std::string SyncWords::subject(const SyncSite& site) {
  switch (site.kind) {
    case SyncKind::Device:
    case SyncKind::Stream:
    case SyncKind::Event:
      return call(site);
    case SyncKind::Barrier:
      return "the barrier that " + call(site) + " makes in the legacy default stream";
    case SyncKind::Copy:
    case SyncKind::Fill:
    case SyncKind::Free:
      return "the wait of " + call(site);
  }
  return {};
}

std::string SyncWords::between(const SyncSite& site) {
  if (site.pairs.empty()) return "";
  const std::uint64_t more = site.pairs.size() - 1 + site.more_pairs;
  return action(site.pairs[0], false) + " and " + action(site.pairs[0], true) +
         (more ? ", and " + report::counted(more, "more pair") : "");
}

std::string SyncWords::reason(const SyncExposure& exposure) {
  const std::string what = at(exposure.site);
  const std::string memory = memory_name(exposure.memory);
  const std::string unseen = exposure.memory == ordering::MemoryKind::Pageable
                                 ? "what the host does with pageable memory cannot be seen"
                                 : "what the host does with " + memory +
                                       " was not watched at that time (at most 4 MiB are watched, less if "
                                       "--host_guard_cost is used up)";
  switch (exposure.why) {
    case Why::HostRead:
      return "the host may read what " + what + " has written, once it has waited: " + unseen + ".";
    case Why::HostWrite:
      return "the host may overwrite or free what " + what + " reads, once it has waited: " + unseen + ".";
    case Why::Graph:
      if (exposure.comes_after) return "a graph (" + what + ") comes after it, and what a graph does is not known.";
      return "the host waits for a graph (" + what + "), and what a graph does is not known.";
    case Why::HostFunction:
      if (exposure.comes_after) return "a host function (" + what + ") comes after it, which may do anything.";
      return "the host waits for a host function (" + what + "), which may tell the host anything.";
    case Why::Print:
      return what + " prints: its output appears when the host waits.";
    case Why::Kernel:  // one sentence for all of them
      return "";
    case Why::Action:
      return "the host waits for " + what + ", after which it may touch memory or read what was written.";
    case Why::End:
      return "nothing else waits for " + what +
             (exposure.stream_life.number || exposure.stream_life.kind == ordering::StreamKind::Legacy
                  ? " on " + stream_report(exposure.stream_life).name
                  : "") +
             " before the program ends.";
  }
  return {};
}

std::string SyncWords::kernels(const SyncSite& site) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const SyncExposure& exposure : site.exposures) {
    if (exposure.why != Why::Kernel) continue;
    std::string text = at(exposure.site);
    if (std::find(names.begin(), names.end(), text) != names.end()) continue;
    names.size() < kMostNamed ? names.push_back(std::move(text)) : void(++more);
  }
  if (more > 0) names.push_back(std::to_string(more) + " more");
  return joined(names, "and");
}

std::string SyncWords::place_of_move(const SyncSite& site, ordering::SiteId to) {
  for (const SyncPair& pair : site.pairs) {
    if (pair.later.site == to && !pair.later.on_stream && pair.later.source == ordering::AccessSource::Host)
      return action(pair, true) + ", the first one if there are several";
  }
  return at(to);
}

std::string SyncWords::replacement(const SyncSite& site) {
  const bool runtime = this->runtime(site);
  const std::string record = runtime ? "cudaEventRecord" : "cuEventRecord";
  const std::string wait = runtime ? "cudaStreamWaitEvent" : "cuStreamWaitEvent";
  const std::string sync_stream = runtime ? "cudaStreamSynchronize" : "cuStreamSynchronize";
  const std::string sync_event = runtime ? "cudaEventSynchronize" : "cuEventSynchronize";
  // Names of streams are those of the pairs and exposures.
  const auto stream_name = [&](ordering::StreamId id) -> std::string {
    for (const SyncPair& pair : site.pairs) {
      if (pair.earlier.on_stream && pair.earlier.stream == id) return stream_report(pair.earlier_stream).name;
      if (pair.later.on_stream && pair.later.stream == id) return stream_report(pair.later_stream).name;
    }
    for (const SyncExposure& exposure : site.exposures) {
      if (exposure.stream == id) return stream_report(exposure.stream_life).name;
    }
    return "the stream";
  };
  std::vector<std::string> parts;
  std::vector<ordering::StreamId> recorded;
  for (const Instead& instead : site.replacement.instead) {
    switch (instead.kind) {
      case Instead::Kind::EventWait: {
        // One record serves all who wait for the stream.
        auto known = std::find(recorded.begin(), recorded.end(), instead.from);
        const std::size_t number = static_cast<std::size_t>(known - recorded.begin());
        const std::string event = number == 0 ? "event" : "event" + std::to_string(number + 1);
        if (known == recorded.end()) {
          recorded.push_back(instead.from);
          parts.push_back(record + "(" + event + ", " + stream_name(instead.from) + ")");
        }
        parts.push_back(wait + "(" + stream_name(instead.to) + ", " + event + ")");
        break;
      }
      case Instead::Kind::StreamSync:
        parts.push_back(sync_stream + "(" + stream_name(instead.from) + ")");
        break;
      case Instead::Kind::EventSync:
        parts.push_back(record + "(event, " + stream_name(instead.from) + ") right after " + at(instead.other) +
                        ", and " + sync_event + "(event)");
        break;
      case Instead::Kind::Move:
        parts.push_back("the same call, moved to right before " + place_of_move(site, instead.other));
        break;
    }
  }
  return joined(parts, "and");
}

std::string SyncWords::group_mates(const SyncSite& site, bool removable) {
  std::vector<std::string> out;
  std::size_t more = 0;
  for (const SyncSite& other : judgement_.sites) {
    if (&other == &site || other.group != site.group || other.removable != removable) continue;
    if (out.size() == kMostNamed) {
      ++more;
      continue;
    }
    std::string text = call(other);
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  if (more > 0) out.push_back(std::to_string(more) + " more");
  return joined(out, "and");
}

}  // namespace streamsan::judge
