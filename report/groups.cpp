// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/groups.h"

#include <map>
#include <string_view>
#include <utility>

namespace streamsan::report {

std::vector<EdgeGroup> grouped(std::span<const Finding* const> findings) {
  std::vector<EdgeGroup> out;
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> known;
  for (const Finding* finding : findings) {
    const std::size_t next = out.size();
    const std::size_t at =
        finding->group.empty() ? next : known.try_emplace({finding->pid, finding->group}, next).first->second;
    if (at == next) {
      out.push_back({.worst = finding, .others = {}});
      continue;
    }
    EdgeGroup& group = out[at];
    if (finding->severity < group.worst->severity) {
      group.others.insert(group.others.begin(), group.worst);
      group.worst = finding;
    } else {
      group.others.push_back(finding);
    }
  }
  return out;
}

std::string text(const EdgeGroup& group, const TextOptions& options,
                 const std::function<std::string(const Finding&)>& below) {
  const auto line_below = [&below](const Finding& finding) { return below ? below(finding) : ""; };
  std::string out = text(*group.worst, options);
  if (const std::size_t others = group.others.size()) {
    out += "  The Fix above repairs the next " + (others == 1 ? "finding" : std::to_string(others) + " findings") +
           ", too.\n";
  }
  out += line_below(*group.worst);
  for (const Finding* other : group.others) out += "\n" + follower_text(*other, options) + line_below(*other);
  return out;
}

}  // namespace streamsan::report
