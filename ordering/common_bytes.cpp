// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering/common_bytes.h"

#include <algorithm>

namespace streamsan::ordering {

CommonBytes common_bytes(std::vector<Range>& runs) {
  CommonBytes out;
  out.more = runs.size() >= kMostRuns;
  std::sort(runs.begin(), runs.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const Range run : runs) {
    if (run.empty()) continue;
    if (count > 0 && run.begin <= runs[count - 1].end) {
      runs[count - 1].end = std::max(runs[count - 1].end, run.end);
    } else {
      runs[count++] = run;
    }
  }
  runs.resize(count);
  if (runs.empty()) return out;
  out.runs = count;
  out.hull = {runs.front().begin, runs.back().end};
  out.width = out.first = runs.front().size();
  if (count > 1) out.pitch = runs[1].begin - runs[0].begin;
  bool regular = true;
  for (std::size_t i = 0; i < count; ++i) {
    out.bytes += runs[i].size();
    regular = regular && runs[i].size() == out.width && (i == 0 || runs[i].begin - runs[i - 1].begin == out.pitch);
  }
  if (!regular) out.width = out.pitch = 0;
  return out;
}

}  // namespace streamsan::ordering
