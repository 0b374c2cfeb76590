// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/unnamed.h"

#include <algorithm>

namespace streamsan::analyzer::ir {
namespace {

constexpr std::string_view kTensors[] = {"at::Tensor", "at::TensorBase", "torch::Tensor"};
constexpr std::string_view kDestructor = "@F@~";  // as Clang writes it, in front of the name of the class

}  // namespace

bool is_captured(const Place& place) { return place.kind == Place::Kind::Field && place.owner == kLambda; }

std::string unnamed_parameter(std::uint32_t position) { return "parameter " + std::to_string(position + 1); }

bool is_unnamed_parameter(const Place& place) {
  return place.kind == Place::Kind::Parameter && place.name == unnamed_parameter(place.number);
}

bool is_of_each(const Function& function, PlaceId path) {
  for (; path != kNoPlace; path = function[path].base) {
    const ExprId index = function[path].index;
    if (index != kNoExpr && function[index].text == kEach) return true;
  }
  return false;
}

bool is_tensor_class(std::string_view qualified_name) {
  return std::ranges::find(kTensors, qualified_name) != std::end(kTensors);
}

bool is_destructor(std::string_view usr) { return usr.find(kDestructor) != std::string_view::npos; }

}  // namespace streamsan::analyzer::ir
