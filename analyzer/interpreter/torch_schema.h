// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema of an ATen operator: "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)". It
// shows the effects on memory: (a!) is written, (a) shares its memory with the result of the same mark, every other
// tensor is read, and a result without a mark is new.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::analyzer::interpreter {

struct Schema {
  enum class Type : std::uint8_t {
    Tensor,
    Tensors,  ///< Tensor[]
    OptionalTensor,
    OptionalTensors,  ///< Tensor?[]
    Integer,
    OptionalInteger,
    Integers,
    OptionalIntegers,
    Boolean,
    OptionalBoolean,
    ElementType,
    OptionalElementType,
    OptionalDevice,
    Scalar,
    Stream,
    Other
  };
  struct Argument {
    Type type = Type::Other;
    char mark = 0;  ///< 'a' of (a); 0: none
    bool written = false;
    std::string name;
  };
  std::string name;  ///< without the overload: "add_"
  std::vector<Argument> arguments;
  std::vector<Argument> results;

  /// The index of the argument; nullopt: there is none of that name.
  [[nodiscard]] std::optional<std::size_t> argument(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> marked(char mark) const;
};

/// nullopt: the text is not a schema.
std::optional<Schema> parse_schema(std::string_view text);

}  // namespace streamsan::analyzer::interpreter
