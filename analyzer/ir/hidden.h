// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places that stand for state without a name in C++: the block of a container, PyTorch's current stream. Their names
// begin with `$`, which no identifier of a program does, and stand in hidden.def and nowhere else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

enum class Hidden : std::uint8_t {
#define SS_HIDDEN(enumerator, name) enumerator,
#include "analyzer/ir/hidden.def"
#undef SS_HIDDEN
};

const char* name(Hidden hidden);

[[nodiscard]] bool is(const Place& place, Hidden hidden);

/// The value of such a place: an operand that names a container's block by Hidden::Data.
template <typename Places>
[[nodiscard]] bool is_value_of(const Places& places, const Operand& operand, Hidden hidden) {
  return operand.kind == Operand::Kind::Value && is(places[operand.place], hidden);
}

/// A part of an expression or of the name of a field, in the spelling that people see.
struct HiddenPart {
  std::size_t at = 0;            ///< where its `$` stands
  std::optional<Hidden> hidden;  ///< absent: not one of hidden.def
};
/// The first one; absent: the text names only what the program itself names.
[[nodiscard]] std::optional<HiddenPart> hidden_part(std::string_view text);

// The key of a field is "Class::field", see field_key().

/// The class whose block this field is: "std::vector" of "std::vector::$data". Absent: it is no block.
[[nodiscard]] std::optional<std::string_view> class_of_block(std::string_view field);
/// A name for the block of the container or tensor that `field` is.
[[nodiscard]] std::string block_of(std::string_view field);

}  // namespace streamsan::analyzer::ir
