// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel does with the memory behind each of its pointer parameters, found in its body. See kernel_effects.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"

namespace clang {
class FunctionDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

/// What a kernel does with the memory behind one pointer.
struct PointerEffect {
  bool reads = false;
  bool writes = false;
  bool atomics = false;          ///< atomic read-modify-writes; not counted in reads and writes
  bool unknown = false;          ///< it escapes to code without a body: the other members say only what was seen
  bool depends_on_data = false;  ///< accesses happen only under a condition on memory, or at indices read from memory
  /// Before the kernel has waited for the grid in front of it: on all paths that lead to such an access, or on some.
  ir::Certainty before_wait = ir::Certainty::No;
  ir::Mode early = ir::Mode::Unknown;  ///< what is done then
  unsigned early_at = 0;               ///< where: raw clang::SourceLocation
  ir::Part part;  ///< which part of the memory: what indices and conditions leave out; `arguments`: of parameters
  friend bool operator==(const PointerEffect&, const PointerEffect&) = default;
};

/// Of one parameter. Of a struct, class or closure: of all pointers in it together, and `members` is true.
struct ParameterEffect : PointerEffect {
  bool members = false;
  /// The same apart, by "field" or "field.field"; a captured variable goes by its name. Only pointers that are used.
  std::vector<std::pair<std::string, PointerEffect>> by_member;
};

/// What a kernel does with a variable that lives on the device: `__device__`, `__constant__`, `__managed__`. Reading,
/// writing, and both are effects of their own.
struct VariableEffect : PointerEffect {
  const clang::VarDecl* variable = nullptr;  ///< the canonical declaration
};

/// What a kernel does about the grid in front of it in its stream.
struct GridBehaviour {
  ir::Certainty waits = ir::Certainty::Perhaps;           ///< for it to end
  ir::Certainty triggers_first = ir::Certainty::Perhaps;  ///< lets its own dependents begin before that
  bool touches_after_trigger = false;                     ///< memory, when it has let them begin
};

namespace device {
class Summaries;
}

class KernelEffects {
 public:
  KernelEffects();
  ~KernelEffects();
  KernelEffects(const KernelEffects&) = delete;
  KernelEffects& operator=(const KernelEffects&) = delete;

  /// By parameter. Without a body: by type (pointer to const reads, other pointers are unknown). The result is cached
  /// by canonical declaration and valid as long as this object.
  const std::vector<ParameterEffect>& of(const clang::FunctionDecl& kernel);
  /// The variables that it, or what it calls, names. Without a body: none.
  std::vector<VariableEffect> variables(const clang::FunctionDecl& kernel);
  /// A bit for each of the first 32 parameters: it only says where the work ends (device_limits.h).
  std::uint32_t limits(const clang::FunctionDecl& kernel);
  /// While they run (device_meeting.h): which bytes a launch touches, and when, is not to be computed.
  bool meets_others(const clang::FunctionDecl& kernel);
  /// Without a body nothing is certain.
  GridBehaviour behaviour(const clang::FunctionDecl& kernel);

 private:
  std::unique_ptr<device::Summaries> summaries_;
  std::unordered_map<const clang::FunctionDecl*, std::vector<ParameterEffect>> known_;
  std::unordered_map<const clang::FunctionDecl*, std::uint32_t> limits_;
  std::unordered_map<const clang::FunctionDecl*, bool> meets_others_;
};

}  // namespace streamsan::analyzer
