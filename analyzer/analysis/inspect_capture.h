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
  /// Reports that the capture does not allow the current op. `most`: the level if it is certain.
  void refuse(const std::string& why, Level most = Level::Definite, CheckCase which = CheckCase::Usual);
  /// As refuse(), for work in the legacy default stream, which only the capture of a blocking stream forbids.
  void refuse_legacy(const std::string& why);
  /// The current op is a synchronisation or a query of the stream.
  void wait_or_ask(ValueId stream, bool relaxed);
  /// The current op is an allocation or a free.
  void memory(ValueId stream, bool relaxed);
  /// The current op is work that returns when it is done.
  void synchronous(ValueId stream, bool relaxed);
  /// The current op writes memory that was allocated since the capture began.
  [[nodiscard]] bool fills_new_memory() const;
  /// At the end of a capture: reports work of a stream that was forked and not joined.
  void not_joined();
  [[nodiscard]] bool is_captured(ValueId stream) const;
  [[nodiscard]] bool certainly_not_captured(ValueId stream) const;
  /// True: a captured stream is a blocking one. False: certainly none is.
  [[nodiscard]] std::optional<bool> any_blocking() const;
  /// Every path through the capture that began at `begin` runs the current op.
  [[nodiscard]] bool always_inside(OpIndex begin) const;
};

}  // namespace streamsan::analyzer
