// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of hidden.def.
#include "analyzer/ir/hidden.h"

#include <algorithm>
#include <array>

#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::array kNames = {
#define SS_HIDDEN(enumerator, name) name,
#include "analyzer/ir/hidden.def"
#undef SS_HIDDEN
};

}  // namespace

const char* name(Hidden hidden) { return kNames[static_cast<std::size_t>(hidden)]; }

bool is(const Place& place, Hidden hidden) { return place.name == name(hidden); }

std::optional<HiddenPart> hidden_part(std::string_view text) {
  const std::size_t at = text.find('$');
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at);
  const auto end = std::find_if_not(rest.begin() + 1, rest.end(), is_word_character);
  rest = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  const auto* const known = std::ranges::find(kNames, rest);
  if (known == kNames.end()) return HiddenPart{at, std::nullopt};
  return HiddenPart{at, static_cast<Hidden>(known - kNames.begin())};
}

std::optional<std::string_view> class_of_block(std::string_view field) {
  const auto part = hidden_part(field);
  constexpr std::string_view kScope = "::";
  if (!part || part->hidden != Hidden::Data || !field.substr(0, part->at).ends_with(kScope)) return std::nullopt;
  return field.substr(0, part->at - kScope.size());
}

std::string block_of(std::string_view field) { return std::string(field) + '.' + name(Hidden::Data); }

}  // namespace streamsan::analyzer::ir
