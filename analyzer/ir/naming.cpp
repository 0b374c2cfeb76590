// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words in names. Only the last component of a qualified name counts.
#include "analyzer/ir/naming.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace streamsan::analyzer::ir {
namespace {

std::string last_component(std::string_view name) {
  if (const std::size_t end = name.rfind("::"); end != std::string_view::npos) name.remove_prefix(end + 2);
  std::string low;
  for (const char c : name) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

template <typename Words>
bool has_one_of(const std::string& name, const Words& words) {
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

}  // namespace

bool gives_new(std::string_view function) {
  constexpr std::array kNew = {"create", "make", "pool",     "acquire", "borrow", "lease",
                               "spawn",  "fork", "checkout", "obtain",  "side",   "take"};
  constexpr std::array kShared = {"current", "default"};
  const std::string name = last_component(function);
  return has_one_of(name, kNew) && !has_one_of(name, kShared);
}

bool may_wait(std::string_view function) {
  constexpr std::array kWait = {"sync",  "wait",  "flush", "finish",   "join",   "barrier", "drain",
                                "fence", "block", "done",  "complete", "finali", "end",     "stop"};
  return has_one_of(last_component(function), kWait);
}

}  // namespace streamsan::analyzer::ir
