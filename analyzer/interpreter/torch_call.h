// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of an operator of ATen: its arguments, by their names in the schema.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/interpreter/torch.h"

namespace streamsan::analyzer::interpreter {

struct Torch::Call {
  const Known& known;
  const Schema& schema;
  const Arguments& arguments;
  Byte* result = nullptr;
  std::string name;                          ///< "at::add_"
  std::vector<std::vector<Byte>> values;     ///< bytes of each argument
  std::vector<Tensor*> tensors;              ///< by argument; nullptr: it is not a tensor, or an empty one
  std::vector<std::vector<Tensor*>> listed;  ///< by argument: the tensors of a list
  bool lists_none = false;                   ///< a list is empty

  [[nodiscard]] Word word(std::size_t argument, std::size_t offset = 0) const {
    Word value = 0;
    if (argument < values.size() && offset < values[argument].size())
      std::memcpy(&value, values[argument].data() + offset, std::min(sizeof value, values[argument].size() - offset));
    return value;
  }
  /// Does an optional value of `size` bytes hold one?
  [[nodiscard]] bool has(std::size_t argument, std::size_t size) const { return (word(argument, size) & 1) != 0; }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<Sizes> integers(Machine& machine, std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view wanted) const { return integer(wanted).value_or(0) != 0; }
  [[nodiscard]] Given given(Machine& machine) const;
  /// The place of the result, by the argument for the device: (on the device, its number or -1 on the host). nullopt:
  /// there is no such argument. `current`: the device if it has no number.
  [[nodiscard]] std::optional<std::pair<bool, signed char>> place(signed char current) const;
  template <typename Use>
  void for_tensors(const Use& use) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] != nullptr) use(*tensors[i], schema.arguments[i]);
      for (Tensor* each : listed[i]) use(*each, schema.arguments[i]);
    }
  }
};

}  // namespace streamsan::analyzer::interpreter
