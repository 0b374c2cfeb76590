// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/functions.h"

#include <algorithm>

#include "ordering/api/row.h"

namespace streamsan::trace {
namespace {

constexpr char kOldNames[] =
#define SS_OLD_FUNCTION(symbol_) #symbol_ "\0"
#include "trace/old_functions.def"
#undef SS_OLD_FUNCTION
    ;
constexpr std::string_view kOld{kOldNames, sizeof kOldNames - 1};
constexpr std::uint64_t kOldHash = 0x2cea66c8de964439ull;
constexpr std::uint32_t kOldRows = 637;
static_assert(api::table_hash(kOld) == kOldHash, "old_functions.def is the table of the traces of formats 1 to 6");

bool is_name_or_end(char c) {
  return c == '\0' || c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

Functions::Functions(std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('\0'));
    names.remove_prefix(name.size() + 1);
    std::size_t number = api::kRowCount + foreign_.size();
    if (const api::Row* row = api::find_row(name)) {
      number = static_cast<std::size_t>(row - api::kRows);
    } else {
      foreign_.emplace_back(name);
    }
    same_ = same_ && number == here_.size();
    here_.push_back(static_cast<std::uint16_t>(std::min<std::size_t>(number, kNoFunction)));
  }
  same_ = same_ && here_.size() == api::kRowCount;
}

std::optional<Functions> Functions::carried(std::string_view names, std::uint32_t rows, std::uint64_t hash) {
  if (names.empty() || names.back() != '\0' || api::table_hash(names) != hash) return std::nullopt;
  if (static_cast<std::uint64_t>(std::count(names.begin(), names.end(), '\0')) != rows) return std::nullopt;
  if (!std::all_of(names.begin(), names.end(), is_name_or_end)) return std::nullopt;
  return Functions(names);
}

std::optional<Functions> Functions::of_old_trace(std::uint32_t rows, std::uint64_t hash) {
  if (rows != kOldRows || hash != kOldHash) return std::nullopt;
  return Functions(kOld);
}

std::string_view Functions::foreign(std::uint16_t here) const {
  const std::size_t index = std::size_t{here} - api::kRowCount;
  return here >= api::kRowCount && index < foreign_.size() ? std::string_view(foreign_[index]) : std::string_view();
}

}  // namespace streamsan::trace
