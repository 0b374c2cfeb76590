// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about calls while a stream is captured. inspect_capture.cpp explains it.
#pragma once

#include <optional>
#include <string>

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class CaptureQuestions : Questions {
 public:
  using Questions::Questions;

  /// At any op while a stream is captured, or may be.
  void ask();

 private:
  /// The capture does not allow the present op. `most`: what a certain one is.
  void refuse(const std::string& why, Level most = Level::Definite, CheckCase which = CheckCase::Usual);
  /// The same, of work in the legacy default stream: only a blocking stream's capture forbids it.
  void refuse_legacy(const std::string& why);
  /// Present op: a synchronisation or a query of the stream.
  void wait_or_ask(ValueId stream, bool relaxed);
  /// Present op: an allocation or a free.
  void memory(ValueId stream, bool relaxed);
  /// Present op: work that returns when it is done.
  void synchronous(ValueId stream, bool relaxed);
  /// Present op: what it writes was allocated since the capture began.
  [[nodiscard]] bool fills_new_memory() const;
  /// At the end of a capture: work of a stream that was forked off and not joined.
  void not_joined();
  [[nodiscard]] bool is_captured(ValueId stream) const;
  [[nodiscard]] bool certainly_not_captured(ValueId stream) const;
  /// A captured stream is a blocking one (true), or certainly none is (false).
  [[nodiscard]] std::optional<bool> any_blocking() const;
  /// Every way through the capture that began at `begin` comes by the present op.
  [[nodiscard]] bool always_inside(OpIndex begin) const;
};

}  // namespace streamsan::analyzer
