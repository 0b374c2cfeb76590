// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/torch_call.h"

#include "analyzer/interpreter/values.h"

namespace streamsan::analyzer::interpreter {

using Type = Schema::Type;

std::optional<std::int64_t> Torch::Call::integer(std::string_view wanted) const {
  const auto at = schema.argument(wanted);
  if (!at) return std::nullopt;
  switch (schema.arguments[*at].type) {
    case Type::Integer:
      return static_cast<std::int64_t>(word(*at));
    case Type::Boolean:
      return static_cast<std::int64_t>(word(*at) & 1);
    case Type::ElementType:
      return static_cast<std::int64_t>(word(*at) & 0xff);
    case Type::OptionalInteger:
      return has(*at, 8) ? std::optional(static_cast<std::int64_t>(word(*at))) : std::nullopt;
    case Type::OptionalBoolean:
    case Type::OptionalElementType:
      return has(*at, 1) ? std::optional(static_cast<std::int64_t>(word(*at) & 0xff)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<std::pair<bool, signed char>> Torch::Call::place(signed char current) const {
  const auto at = schema.argument("device");
  if (!at || (schema.arguments[*at].type == Type::OptionalDevice && !has(*at, 2))) return std::nullopt;
  const bool on_device = (word(*at) & 0xff) == 1;
  const auto index = static_cast<signed char>(word(*at) >> 8U);
  return std::pair(on_device, !on_device ? static_cast<signed char>(-1) : index >= 0 ? index : current);
}

std::optional<Sizes> Torch::Call::integers(Machine& machine, std::string_view wanted) const {
  constexpr Word kMost = 64;
  const auto at = schema.argument(wanted);
  if (!at) return std::nullopt;
  const Type type = schema.arguments[*at].type;
  if (type != Type::Integers && (type != Type::OptionalIntegers || !has(*at, 16))) return std::nullopt;
  const Word from = word(*at), count = word(*at, 8);
  if (count > kMost || !machine.memory().contains(from, count * sizeof(Word))) return std::nullopt;
  Sizes list;
  for (Word i = 0; i < count; ++i) list.push_back(static_cast<std::int64_t>(load_word(from + i * sizeof(Word))));
  return list;
}

Given Torch::Call::given(Machine& machine) const {
  Given answers;
  answers.integer = [this](std::string_view wanted) { return integer(wanted); };
  answers.integers = [this, &machine](std::string_view wanted) { return integers(machine, wanted); };
  answers.tensor = [this](std::string_view wanted) -> const Shape* {
    const auto at = schema.argument(wanted);
    return at && tensors[*at] != nullptr ? &tensors[*at]->shape : nullptr;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] != nullptr && !schema.arguments[i].name.starts_with("out"))
      answers.all.push_back(&tensors[i]->shape);
    if (answers.listed.empty())
      for (const Tensor* each : listed[i]) answers.listed.push_back(&each->shape);
  }
  return answers;
}

}  // namespace streamsan::analyzer::interpreter
