// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words in names. Only the last component of a qualified name counts.
#include "analyzer/ir/naming.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace streamsan::analyzer::ir {

std::string_view last_component(std::string_view name) {
  if (const std::size_t end = name.rfind("::"); end != std::string_view::npos) name.remove_prefix(end + 2);
  return name;
}

namespace {

std::string lowered(std::string_view name) {
  std::string low;
  for (const char c : name) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// Of `getStreamFromPool`, `get_stream_from_pool`: get, stream, from, pool.
std::vector<std::string> words(std::string_view name) {
  std::vector<std::string> result(1);
  bool was_low = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool ends = std::isalpha(letter) == 0 || (std::isupper(letter) != 0 && was_low);
    if (ends && !result.back().empty()) result.emplace_back();
    if (std::isalpha(letter) != 0) result.back() += static_cast<char>(std::tolower(letter));
    was_low = std::islower(letter) != 0;
  }
  return result;
}

template <typename Words>
bool has_one_of(const std::vector<std::string>& name, const Words& words) {
  return std::ranges::any_of(words, [&](const char* word) { return std::ranges::find(name, word) != name.end(); });
}

}  // namespace

bool gives_new(std::string_view function) {
  constexpr std::array kNew = {"create", "make", "acquire",  "borrow", "lease",
                               "spawn",  "fork", "checkout", "obtain", "take"};
  constexpr std::array kPool = {"pool", "pooled"};
  constexpr std::array kGiven = {"get", "from"};
  constexpr std::array kShared = {"current", "default", "or"};
  const std::vector<std::string> name = words(last_component(function));
  const bool of_pool = has_one_of(name, kPool) && has_one_of(name, kGiven);
  return (has_one_of(name, kNew) || of_pool) && !has_one_of(name, kShared);
}

bool may_wait(std::string_view function) {
  constexpr std::array kWait = {"sync",  "wait",     "flush",  "finish", "join", "barrier", "drain",
                                "fence", "block",    "done",   "end",    "stop", "settle",  "idle",
                                "spin",  "complete", "finali", "quies",  "poll", "ready"};
  const std::string name = lowered(last_component(function));
  return std::ranges::any_of(kWait, [&](const char* word) { return name.find(word) != std::string::npos; });
}

bool reports(std::string_view function) {
  constexpr std::array kReport = {"fail", "error", "check", "abort", "die", "log", "warn", "throw", "print", "fatal"};
  return has_one_of(words(last_component(function)), kReport);
}

}  // namespace streamsan::analyzer::ir
