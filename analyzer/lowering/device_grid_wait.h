// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for the grid in front (griddepcontrol.wait) and triggers for the one behind, in device code.
//
// Both are mostly written so that only a device compilation sees them: under `#if __CUDA_ARCH__ >= 900`, in a macro
// that is empty on the host. The syntax tree is the host's. So the text of a function is read as well: a wait or
// trigger that is in the text and not in the tree becomes a Mark at its offset. Marks err towards a wait: whatever
// looks like one counts as one, whatever #if surrounds it; but a call of a function that the host knows, too, under a
// condition that is the host's as well, would be in the tree if it were compiled.
#pragma once

#include <cstdint>
#include <vector>

#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/StringRef.h"

namespace clang {
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

/// What has happened on the paths that lead to a point: on some the kernel has not waited, on some it has.
/// Neither: nothing leads there.
struct Flow {
  bool before = true;
  bool after = false;
  [[nodiscard]] bool reached() const { return before || after; }
  Flow& operator|=(const Flow& other) {
    before |= other.before;
    after |= other.after;
    return *this;
  }
  friend Flow operator|(Flow a, const Flow& b) { return a |= b; }
  friend bool operator==(const Flow&, const Flow&) = default;
};
inline constexpr Flow kNowhere{.before = false, .after = false};
inline constexpr Flow kWaited{.before = false, .after = true};
inline constexpr Flow kPerhapsWaited{.before = true, .after = true};

enum class GridCall : std::uint8_t { None, Wait, PerhapsWait, Trigger };

/// By name: cudaGridDependencySynchronize, wait_on_dependent_grids, and what programs call their own.
GridCall grid_call(llvm::StringRef function_name);
/// By the text of an assembly statement.
GridCall grid_assembly(llvm::StringRef text);

struct Mark {
  unsigned offset = 0;  ///< in the file of the function
  GridCall call = GridCall::None;
};

/// In the text of the function, in order; its file must be that of its body.
std::vector<Mark> marks_in(const clang::FunctionDecl& definition);

/// Assembly statements in it that wait and do not say that they touch memory: the compiler may move accesses over them.
std::vector<clang::SourceLocation> unfenced_waits(const clang::FunctionDecl& definition);

}  // namespace streamsan::analyzer::device
