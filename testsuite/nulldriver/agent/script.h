// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The script of the test suite's agent: what each kernel is said to have touched. One statement a line, words separated
// by blanks, # at the start of a line begins a comment.
//
//   KERNEL[@N]  read|write|atomic  #P[+OFFSET]  WIDTH  [ROWS PITCH [SLICES SLICE_PITCH]]
//       SLICES times ROWS runs of WIDTH bytes, from the launch's pointer word P (counted from 0). OFFSET may be
//       negative: #1-64.
//   KERNEL[@N]  nothing
//       It touched nothing at all. Statements for the same kernel add up.
//   KERNEL[@N]  outcome  incomplete|late|too-large|failed|dead  [REASON...]
//       How the measurement ended. `incomplete` goes with ranges.
//   KERNEL[@N]  begin  busy|late|too-large|failed|dead
//       It was refused before the launch.
//   KERNEL[@N]  waits
//       The agent waits for the GPU by a call that the recorder sees, as the Sanitizer library may.
//   KERNEL  code  NUMBER
//       Its machine code is another than that of a kernel of the name with another number, or without such a statement.
//       0: it is not known.
//   start  REASON...
//       Nothing can be measured at all.
//
// KERNEL is a part of the mangled name. With @N the statement is about the N-th measurement of that kernel only, from
// 1; a measurement that has statements of its own does not get those without @N.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interposer/footprints/agent.h"

namespace streamsan::script {

/// The answer to one measurement.
struct Answer {
  bool known = false;  ///< the script has a statement for it
  bool waits = false;
  StreamSanOutcome at_begin = kStreamSanMeasured;  ///< else: refused
  StreamSanOutcome at_end = kStreamSanMeasured;
  std::string reason;
  std::vector<StreamSanRange> ranges;  ///< as agent.h demands: sorted, none of one mode touching another of it
};

class Script {
 public:
  /// Returns what is wrong with the text ("line 3: ..."); empty: nothing.
  std::string read(std::string_view text);

  /// Why nothing can be measured; empty: it can.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  /// Stands for the kernel's machine code; 0: it is not known.
  [[nodiscard]] std::uint64_t code(std::string_view kernel) const;

  /// For the `number`-th measurement of the kernel, from 1.
  [[nodiscard]] Answer answer(std::string_view kernel, unsigned number, const std::uint64_t* pointer_words,
                              std::size_t pointer_count) const;

 private:
  struct Statement {
    std::string kernel;
    unsigned number = 0;  ///< 0: any
    bool waits = false;
    std::uint32_t mode = 0;  ///< StreamSanMode; 0: no bytes
    std::size_t pointer = 0;
    std::int64_t offset = 0;
    std::uint64_t width = 0, rows = 1, pitch = 0, slices = 1, slice_pitch = 0;
    StreamSanOutcome at_begin = kStreamSanMeasured;
    StreamSanOutcome at_end = kStreamSanMeasured;
    std::string reason;
  };

  static std::string parse(const std::vector<std::string>& words, Statement& out);

  struct Code {
    std::string kernel;
    std::uint64_t number = 0;
  };

  std::vector<Statement> statements_;
  std::vector<Code> codes_;
  std::string refusal_;
};

}  // namespace streamsan::script
