// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the printer and the parser of the text form have to agree on: the words, the shape of each op, and what need
// not be written because both sides infer it. print.cpp has the grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

const char* name(TypeKind type);
const char* name(Api api);          ///< "" of None
const char* name(Site::Kind kind);  ///< "" of Call
const char* name(ordering::StreamKind kind);
const char* name(ordering::MemoryKind kind);
/// Operands that are no place: "none", "null", "default", "legacy", "per_thread", "?". Empty for Value and Address.
const char* name(Operand::Kind kind);

/// The enumerator of that name.
template <typename Enum>
std::optional<Enum> find(std::string_view word);

/// What follows the name of an op, one letter each: t target, v source, s stream, e event, f second event, `=`, w work
/// and name, c `target = "callee"(arguments)`. Everything else that an op has is written as attributes.
std::string_view shape(OpKind kind);

/// May stand without quotes: letters, digits, `_`, `$`, `~` and everything beyond ASCII.
bool is_bare(std::string_view word);
bool is_word_character(char c);
/// Cannot name a variable without quotes.
bool is_reserved(std::string_view word);

/// Delimited, with escapes: "..." for text, `...` for names.
std::string quote(std::string_view text, char delimiter);

/// The integer variables by their names, to find those that an expression's text uses.
class IntegerNames {
 public:
  void add(const Place& place, PlaceId id);
  /// Every identifier that names exactly one of them, in the order of the text.
  [[nodiscard]] std::vector<PlaceId> used_in(std::string_view text) const;

 private:
  std::unordered_map<std::string, PlaceId> names_;  ///< kNoPlace: the name is not unique
};

/// The value of a decimal number.
std::optional<std::int64_t> literal(std::string_view text);

}  // namespace streamsan::analyzer::ir
