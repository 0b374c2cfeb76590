// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers all addresses first, so that each module is symbolised in one go, then builds the findings one by one.
#include "judge/explain.h"

#include <algorithm>
#include <array>
#include <map>

#include "judge/frames.h"
#include "judge/signature.h"
#include "judge/wording.h"
#include "ordering/rules.h"
#include "report/short_name.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

using ordering::Access;
using ordering::AccessSource;
using ordering::Hazard;
using report::Frame;

/// Frames of the program's own modules that make up a fingerprint.
constexpr std::size_t kFingerprintFrames = 8;

class Fingerprint {
 public:
  void add(std::string_view text) {
    for (char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash_ = (hash_ ^ 0xff) * 0x100000001b3ull;
  }
  [[nodiscard]] std::string text() const {
    std::string digits = report::hex(hash_).substr(2);
    return std::string(16 - digits.size(), '0') + digits;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string direction_note(const api::Row& row) {
  switch (row.effect.direction) {
    case api::Direction::HostToDevice:
      return " (host to device)";
    case api::Direction::DeviceToHost:
      return " (device to host)";
    case api::Direction::DeviceToDevice:
      return " (device to device)";
    case api::Direction::Array:
      return " (array)";
    case api::Direction::ByAddress:
      return "";
  }
  return "";
}

report::Stream stream_report(const StreamLife& life) {
  report::Stream out{.handle = life.handle};
  switch (life.kind) {
    case ordering::StreamKind::Legacy:
      return {"the legacy default stream", "legacy", life.handle};
    case ordering::StreamKind::PerThread:
      return {"the per-thread default stream of thread " + std::to_string(static_cast<std::uint32_t>(life.thread)),
              "per-thread", life.handle};
    case ordering::StreamKind::Blocking:
      out.kind = "blocking";
      break;
    case ordering::StreamKind::NonBlocking:
      out.kind = "non-blocking";
      break;
  }
  out.name = life.number == 0    ? "a destroyed stream"
             : life.name.empty() ? "stream " + std::to_string(life.number)
                                 : "stream \"" + life.name + "\"";
  return out;
}

report::Evidence evidence_of(const Access& access) {
  switch (ordering::evidence(access)) {
    case ordering::Evidence::Inferred:
      return report::Evidence::Inferred;
    case ordering::Evidence::Widened:
      return report::Evidence::Widened;
    case ordering::Evidence::Learned:
      return report::Evidence::Learned;
    case ordering::Evidence::Sure:
      return report::Evidence::Exact;
  }
  return report::Evidence::Inferred;
}

class Explainer {
 public:
  Explainer(const Places& places, Symbolizer& symbolizer, bool measuring)
      : places_(places), symbolizer_(symbolizer), measuring_(measuring) {}

  void want(ordering::SiteId site) {
    for (const RawFrame& frame : places_.frames(site)) {
      if (symbolised(frame)) symbolizer_.want(places_.module(frame.module).path, frame.offset);
    }
  }

  report::Finding finding(const KeptHazard& kept);

 private:
  /// Names inside the driver, libc and ourselves would tell nobody anything.
  bool symbolised(const RawFrame& frame) {
    if (frame.module == kNoModule) return false;
    const Module& module = places_.module(frame.module);
    std::string name = base_name(module.path);
    if (name.starts_with("libcuda.") || name.starts_with("libstreamsan") || name.starts_with("libc.")) return false;
    return symbolizer_.stands(module.path, module.build_id);
  }

  std::vector<Frame> stack(ordering::SiteId site);
  /// "cudaMemcpyAsync (host to device)", or the driver's name when no run-time function is in the stack.
  std::string call_name(ordering::SiteId site, const std::vector<Frame>& stack) const;
  report::AccessReport access_report(const Access& access, const StreamLife& stream);
  void add_to_fingerprint(Fingerprint& print, const Access& access) const;
  Nouns nouns(const KeptHazard& kept, const report::Finding& finding);

  const Places& places_;
  Symbolizer& symbolizer_;
  bool measuring_;
  std::map<std::uint32_t, std::vector<Frame>> stacks_;
};

std::vector<Frame> Explainer::stack(ordering::SiteId site) {
  auto [it, fresh] = stacks_.try_emplace(static_cast<std::uint32_t>(site));
  if (!fresh) return it->second;
  for (const RawFrame& raw : places_.frames(site)) {
    std::string module = raw.module == kNoModule ? "" : places_.module(raw.module).path;
    if (symbolised(raw)) {
      for (Frame& frame : symbolizer_.frames(module, raw.offset, raw.address)) it->second.push_back(std::move(frame));
    } else {
      it->second.push_back({.address = raw.address, .module = module, .offset = raw.offset});
    }
  }
  mark_library_frames(it->second, places_.kernel_of(site).demangled);
  return it->second;
}

std::string Explainer::call_name(ordering::SiteId site, const std::vector<Frame>& stack) const {
  const api::Row& row = places_.row(site);
  std::string name = runtime_call(stack);
  if (name.empty()) name = row.base;
  bool copies = row.effect.kind == api::EffectKind::Copy || row.effect.kind == api::EffectKind::Copy2D ||
                row.effect.kind == api::EffectKind::Copy3D;
  if (copies) name += direction_note(row);
  std::string library = library_call(stack);
  return library.empty() ? name : name + " in " + library;
}

report::AccessReport Explainer::access_report(const Access& access, const StreamLife& stream) {
  report::AccessReport out;
  out.verb = verb_of(access);
  out.api = places_.row(access.site).symbol;
  out.stack = this->stack(access.site);
  if (access.source == AccessSource::Kernel) {
    out.kernel = places_.kernel_of(access.site).demangled;
    out.what = "kernel " + (out.kernel.empty() ? "(name not known)" : report::short_name(out.kernel));
    std::string library = library_call(out.stack);
    if (!library.empty()) out.what += " in " + library;
  } else {
    out.what = call_name(access.site, out.stack);
  }
  out.stream = access.on_stream ? stream_report(stream) : report::Stream{.name = "the host", .kind = "", .handle = 0};
  out.op = static_cast<std::uint64_t>(access.op);
  out.thread = static_cast<std::uint32_t>(access.thread);
  out.evidence = evidence_of(access);
  out.begin = access.range.begin;
  out.end = access.range.end;
  return out;
}

void Explainer::add_to_fingerprint(Fingerprint& print, const Access& access) const {
  print.add(places_.row(access.site).base);
  print.add(places_.kernel_of(access.site).mangled);
  std::size_t used = 0;
  for (const RawFrame& frame : places_.frames(access.site)) {
    if (frame.module == kNoModule || is_library_module(places_.module(frame.module).path)) continue;
    print.add(base_name(places_.module(frame.module).path) + "+" + report::hex(frame.offset));
    if (++used == kFingerprintFrames) break;
  }
}

/// " (train.cu:88)", or nothing.
std::string short_place(const std::vector<Frame>& stack) {
  auto it = std::find_if(stack.begin(), stack.end(), [](const Frame& f) { return !f.library; });
  if (it == stack.end() || it->file.empty()) return "";
  return " (" + base_name(it->file) + ":" + std::to_string(it->line) + ")";
}

Nouns Explainer::nouns(const KeptHazard& kept, const report::Finding& finding) {
  const report::AccessReport& later = finding.accesses[0];
  const report::AccessReport& earlier = finding.accesses[1];
  Nouns out;
  out.later = later.what;
  out.earlier = earlier.what;
  out.later_at = later.what + short_place(later.stack);
  out.earlier_at = earlier.what + short_place(earlier.stack);
  out.later_stream = later.stream.name;
  out.earlier_stream = earlier.stream.name;
  out.event = kept.event.number ? "event " + std::to_string(kept.event.number) : "an event (destroyed since)";
  auto related_at = [&](ordering::SiteId site) {
    if (site == ordering::kNoSite) return std::string();
    std::vector<Frame> frames = stack(site);
    return call_name(site, frames) + short_place(frames);
  };
  out.record_at = related_at(kept.hazard.explanation.record_site);
  out.wait_at = related_at(kept.hazard.explanation.wait_site);
  out.measuring = measuring_;
  // A driver API program has no run-time function in its stacks; one without stacks is taken for the usual kind.
  bool any_stack = !later.stack.empty() || !earlier.stack.empty();
  out.runtime = !any_stack || !runtime_call(later.stack).empty() || !runtime_call(earlier.stack).empty();
  return out;
}

report::Finding Explainer::finding(const KeptHazard& kept) {
  const Hazard& hazard = kept.hazard;
  report::Finding out;
  out.severity = severity_of(hazard);
  switch (hazard.kind) {
    case ordering::HazardKind::ReadAfterWrite:
    case ordering::HazardKind::WriteAfterRead:
    case ordering::HazardKind::WriteAfterWrite:
      out.kind = hazard.earlier.source == AccessSource::Host || hazard.later.source == AccessSource::Host
                     ? report::Kind::HostRace
                     : report::Kind::Race;
      break;
    case ordering::HazardKind::UseBeforeAllocate:
    case ordering::HazardKind::UseAfterFree:
    case ordering::HazardKind::FreeWhileInUse:
    case ordering::HazardKind::ReleaseWhileInUse:
    case ordering::HazardKind::ReuseWhileInUse:
      out.kind = report::Kind::PrematureFree;
      break;
  }
  out.hazard = hazard_name(hazard.kind);
  out.cause = cause_name(hazard.explanation.nearest);
  if (hazard.order == ordering::Order::Latent && hazard.leaned_on) out.rule = ordering::rule_id(*hazard.leaned_on);
  out.accesses.push_back(access_report(hazard.later, kept.later_stream));
  out.accesses.push_back(access_report(hazard.earlier, kept.earlier_stream));

  report::BufferReport buffer;
  buffer.memory = memory_name(hazard.allocation.kind);
  buffer.stack = stack(hazard.allocation.site);
  buffer.allocator = call_name(hazard.allocation.site, buffer.stack);
  buffer.address = hazard.allocation.range.begin;
  buffer.bytes = hazard.allocation.range.size();
  out.buffer = std::move(buffer);
  out.overlap_begin = hazard.overlap.begin;
  out.overlap_end = hazard.overlap.end;

  const ordering::Explanation& why = hazard.explanation;
  for (auto [site, id] : {std::pair{why.record_site, why.record}, std::pair{why.wait_site, why.wait}}) {
    if (site == ordering::kNoSite) continue;
    std::vector<Frame> frames = stack(site);
    std::string what = call_name(site, frames);
    out.related.push_back({std::move(what), static_cast<std::uint64_t>(id), std::move(frames)});
  }

  Nouns words = nouns(kept, out);
  out.message = message(hazard, words, out.buffer->memory);
  out.explanation = explanation(hazard, words);
  out.fix = fix(hazard, words);
  Fingerprint print;
  print.add(out.hazard);
  add_to_fingerprint(print, hazard.later);
  add_to_fingerprint(print, hazard.earlier);
  out.fingerprint = print.text();
  out.count = kept.count;
  return out;
}

}  // namespace

report::Severity severity_of(const Hazard& hazard) {
  if (hazard.certainty == ordering::Certainty::Possible) return report::Severity::Possible;
  return hazard.order == ordering::Order::Latent ? report::Severity::Latent : report::Severity::Error;
}

std::vector<report::Finding> explain(std::span<const KeptHazard> hazards, const Places& places, Symbolizer& symbolizer,
                                     bool measuring) {
  Explainer explainer(places, symbolizer, measuring);
  for (const KeptHazard& kept : hazards) {
    if (!kept.stands()) continue;
    for (ordering::SiteId site : {kept.hazard.later.site, kept.hazard.earlier.site, kept.hazard.allocation.site,
                                  kept.hazard.explanation.record_site, kept.hazard.explanation.wait_site}) {
      explainer.want(site);
    }
  }
  std::vector<report::Finding> out;
  std::map<std::pair<std::string, report::Severity>, std::size_t> known;
  for (const KeptHazard& kept : hazards) {
    if (!kept.stands()) continue;
    report::Finding finding = explainer.finding(kept);
    auto [it, fresh] = known.try_emplace({finding.fingerprint, finding.severity}, out.size());
    if (fresh) {
      out.push_back(std::move(finding));
    } else {
      out[it->second].count += finding.count;
    }
  }
  return out;
}

}  // namespace streamsan::judge
