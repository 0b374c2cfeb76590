// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver functions of a trace, as the table of this program knows them.
//
// A record names the function that was called by a row of the *recorder's* table. That table is carried by the trace
// (format.h), or, up to format 6, is the one table that recorders of that time had. Each of its names has one of these
// places here:
//   * the name has a row in cuda_api.def: that row, wherever it stands now;
//   * it has none, because the trace comes from a recorder with a larger table: a number behind the last row. The
//     record itself says what the call did, so only what a row would add is lost (the memory on both sides of a copy, a
//     note); the judge counts such calls and names them, as it does calls of functions that are not modelled;
//   * the number is in no table, because the record is damaged: kNoFunction.
//
// Outside of the guest only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::trace {

inline constexpr std::uint16_t kNoFunction = 0xffff;

class Functions {
 public:
  /// From the names that a trace carries, `rows` of them. None: they are no such table, or not the one of the hash.
  static std::optional<Functions> carried(std::string_view names, std::uint32_t rows, std::uint64_t hash);
  /// From the hash alone, of a trace that carries no names. None: no recorder had such a table.
  static std::optional<Functions> of_old_trace(std::uint32_t rows, std::uint64_t hash);

  /// Is the trace's table that of this program?
  [[nodiscard]] bool same() const { return same_; }
  /// The number here of a function of the trace.
  [[nodiscard]] std::uint16_t here(std::uint16_t in_trace) const {
    return in_trace < here_.size() ? here_[in_trace] : kNoFunction;
  }
  /// The name of a function that has no row here, by its number here; empty: it has one, or is in no table.
  [[nodiscard]] std::string_view foreign(std::uint16_t here) const;

 private:
  explicit Functions(std::string_view names);

  std::vector<std::uint16_t> here_;   ///< by the number in the trace
  std::vector<std::string> foreign_;  ///< by the number here, less the rows of the table
  bool same_ = true;
};

}  // namespace streamsan::trace
