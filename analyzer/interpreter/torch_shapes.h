// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of the tensors that ATen operators return. See torch_shapes.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/interpreter/torch_schema.h"

namespace streamsan::analyzer::interpreter {

using Sizes = std::vector<std::int64_t>;

/// Sizes, strides and offset, in elements.
struct Shape {
  Sizes sizes, strides;
  std::int64_t offset = 0;

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] bool is_contiguous() const;
};

Shape contiguous(Sizes sizes);

/// The arguments of one call, by their names in the schema.
struct Given {
  std::function<std::optional<std::int64_t>(std::string_view name)> integer;
  std::function<std::optional<Sizes>(std::string_view name)> integers;
  std::function<const Shape*(std::string_view name)> tensor;
  std::vector<const Shape*> listed;  ///< the elements of the first argument that is a list of tensors
  std::vector<const Shape*> all;     ///< the arguments that are tensors
};

/// The shape of a tensor that shares memory with `of`. nullopt: not known; it is assumed to be
/// all of `of`.
std::optional<Shape> view_of(const Schema& schema, const Given& given, const Shape& of);
/// The sizes of a new tensor.
Sizes sizes_of_new(const Schema& schema, const Given& given);
/// The shapes of tensors that share memory with `of`: chunk(), split(), unbind().
std::vector<Shape> parts_of(const Schema& schema, const Given& given, const Shape& of);

}  // namespace streamsan::analyzer::interpreter
