// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What types are, by name: handles, classes that own memory, execution policies. See types.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/models/model.h"

namespace streamsan::analyzer {

struct TypeFacts {
  ir::TypeKind kind = ir::TypeKind::Other;
  std::optional<Models::Owner> owner;
  Policy policy = Policy::None;
};

class Types {
 public:
  static Types built_in();
  /// Replaces what was known of the name.
  void put(std::string_view name, const TypeFacts& facts);
  /// The facts about a type. An unknown type has none. Template arguments in the name are ignored.
  [[nodiscard]] const TypeFacts& find(std::string_view name) const;
  [[nodiscard]] std::optional<ir::Operand::Kind> stream_constant(std::string_view variable) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, TypeFacts, Hash, std::equal_to<>> types_;
};

/// A function of the C or C++ library or the like that does not synchronise a device, keeps no pointer, and calls
/// nothing back that was not seen. See host.cpp.
bool known_harmless(const Callee& callee);

/// A name of the CUDA runtime, its driver or HIP, or of a library for them ("at::is_cuda"). Macros are not meant: libc
/// asks for __CUDACC__.
bool is_gpu_name(std::string_view identifier);

/// What cudaGraphNode_t, CUgraphNode and hipGraphNode_t point to.
bool is_graph_node(std::string_view class_name);

/// The class describes a launch's attribute: the launch records an event that is written into one
/// (cudaLaunchAttributeValue::launchCompletionEvent).
bool is_launch_attribute(std::string_view qualified_class);

}  // namespace streamsan::analyzer
