// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/marks.h"

#include <algorithm>

namespace streamsan::judge {

void Marks::add(trace::MarkLevel level, std::uint64_t position, std::string_view name) {
  const auto index = static_cast<std::size_t>(level);
  if (index >= kLevels) return;  // of a damaged trace
  MarkId id{};
  if (!name.empty()) {
    auto known = ids_.find(name);
    if (known == ids_.end()) {
      known = ids_.emplace(name, static_cast<MarkId>(names_.size())).first;
      names_.emplace_back(name);
    }
    id = known->second;
  }
  places_[index].push_back({position, id});
}

MarkId Marks::at(trace::MarkLevel level, std::uint64_t position) const {
  const std::vector<Place>& all = places(level);
  const auto after = std::upper_bound(all.begin(), all.end(), position,
                                      [](std::uint64_t value, const Place& place) { return value < place.position; });
  return after == all.begin() ? MarkId{} : std::prev(after)->id;
}

void TestSet::add(MarkId test) {
  if (test == MarkId{} || tests_.size() >= kMost) return;
  // Mostly the last one.
  if (std::find(tests_.rbegin(), tests_.rend(), test) == tests_.rend()) tests_.push_back(test);
}

std::vector<std::string> TestSet::names(const Marks& marks) const {
  std::vector<std::string> out;
  out.reserve(tests_.size());
  for (const MarkId test : tests_) out.push_back(marks.name(test));
  return out;
}

}  // namespace streamsan::judge
