// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the two sides of a finding stand, to tell whether two findings are of one defect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

using Position = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t>;

inline Position position(const ir::Site& site) { return {site.file, site.line, site.column, site.begin}; }

/// Where the side is that the warning does not stand at.
inline const ir::Site& other_side(const Finding& finding) {
  return finding.sites[finding.sites.size() > 2 ? 2 : finding.sites.size() - 1];
}

/// What the two sides do, in the order of the source.
inline std::pair<Position, Position> two_sides(const Finding& finding) {
  return std::minmax(position(finding.sites.front()), position(other_side(finding)));
}

using Line = std::pair<std::string, std::uint32_t>;

inline Line line(const ir::Site& site) { return {site.file, site.line}; }

inline std::pair<Line, Line> two_lines(const Finding& finding) {
  const ir::Site &one = finding.sites.front(), &other = other_side(finding);
  return std::minmax(Line{one.file, one.line}, Line{other.file, other.line});
}

}  // namespace streamsan::analyzer
