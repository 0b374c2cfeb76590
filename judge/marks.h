// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of its run the program was in, by its own word: marks (trace::Kind::Mark) by their places in the trace.
//
// A mark holds for all threads, from its record to the next one of its level. So the part of an operation follows from
// the position of its call alone. Where one thread marks while another one submits, the records decide.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace streamsan::judge {

/// A name that was marked. No name is 0.
enum class MarkId : std::uint32_t {};

class Marks {
 public:
  /// From the position on. Positions rise.
  void add(trace::MarkLevel level, std::uint64_t position, std::string_view name);
  [[nodiscard]] MarkId at(trace::MarkLevel level, std::uint64_t position) const;
  [[nodiscard]] const std::string& name(MarkId id) const { return names_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool any(trace::MarkLevel level) const { return !places(level).empty(); }

 private:
  struct Place {
    std::uint64_t position = 0;
    MarkId id{};
  };
  static constexpr std::size_t kLevels = 2;
  [[nodiscard]] const std::vector<Place>& places(trace::MarkLevel level) const {
    return places_[static_cast<std::size_t>(level) % kLevels];
  }

  std::vector<std::string> names_{""};
  std::map<std::string, MarkId, std::less<>> ids_;
  std::array<std::vector<Place>, kLevels> places_;
};

/// Tests, without repetition, in the order in which they were added. At most kMost: one finding in the fixture of ten
/// thousand tests needs no list of them all.
class TestSet {
 public:
  static constexpr std::size_t kMost = 1000;
  void add(MarkId test);
  [[nodiscard]] std::vector<std::string> names(const Marks& marks) const;

 private:
  std::vector<MarkId> tests_;
};

}  // namespace streamsan::judge
