// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/fingerprint.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "report/common/call_name.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

/// As many as count in the judge's own fingerprint.
constexpr std::size_t kFrames = 8;

void add(Fingerprint& print, const std::vector<Frame>& stack) {
  std::size_t used = 0;
  for (const Frame& frame : stack) {
    if (frame.library || (frame.function.empty() && frame.module.empty())) continue;
    const std::string module = frame.module.substr(frame.module.rfind('/') + 1);
    print.add(frame.function.empty() ? module + "+" + hex(frame.offset) : frame.function);
    if (++used == kFrames) break;
  }
}

std::string side(std::string_view api, std::string_view kernel, const std::vector<Frame>& stack) {
  Fingerprint print;
  print.add(written_name(api));  // the same with another version of CUDA, or other default streams
  print.add(kernel);
  add(print, stack);
  return print.text();
}

/// One word for each operation that says where the finding is.
std::vector<std::string> sides(const Finding& finding) {
  std::vector<std::string> out;
  for (const AccessReport& access : finding.accesses) out.push_back(side(access.api, access.kernel, access.stack));
  if (finding.sync) out.push_back(side(finding.sync->api, name(finding.sync->waits), finding.sync->stack));
  // Of a finding with accesses these are only what explains it.
  if (out.empty()) {
    for (const RelatedOp& related : finding.related) out.push_back(side(related.api, "", related.stack));
  }
  return out;
}

}  // namespace

std::string lasting_fingerprint(const Finding& finding) {
  Fingerprint print;
  print.add(name(finding.kind));
  // Of a synchronising call that is the verdict, which may be another one next time.
  if (!finding.sync) print.add(finding.hazard.text());
  for (const std::string& side : sides(finding)) print.add(side);
  return print.text();
}

std::string mirrored_fingerprint(const Finding& finding) {
  const bool race = finding.kind == Kind::Race || finding.kind == Kind::HostRace;
  if (!race || finding.accesses.size() != 2) return {};
  std::vector<std::string> both = sides(finding);
  std::sort(both.begin(), both.end());
  Fingerprint print;
  print.add(name(finding.kind));
  for (const std::string& side : both) print.add(side);
  return print.text();
}

std::vector<Folded> folded(const std::vector<const Finding*>& findings) {
  std::vector<Folded> out;
  std::map<std::string_view, std::size_t> known;
  for (const Finding* finding : findings) {
    auto [it, fresh] = known.try_emplace(finding->fingerprint, out.size());
    if (fresh || finding->fingerprint.empty()) {
      it->second = out.size();
      out.push_back({.worst = finding});
    }
    Folded& fold = out[it->second];
    fold.count += finding->count;
    if (std::find(fold.pids.begin(), fold.pids.end(), finding->pid) == fold.pids.end()) {
      fold.pids.push_back(finding->pid);
    }
    if (std::tie(finding->suppressed, finding->severity) < std::tie(fold.worst->suppressed, fold.worst->severity)) {
      fold.worst = finding;
    }
  }
  return out;
}

}  // namespace streamsan::report
