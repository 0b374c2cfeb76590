// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about code that is correct but slow. inspect_syncs.cpp explains it.
#pragma once

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class SyncQuestions : Questions {
 public:
  using Questions::Questions;

  /// At any op.
  void ask();

 private:
  void device_sync();
  /// At a synchronisation of a stream or of the device.
  void redundant_sync();
  void redundant_event_sync();
  /// At an op that enqueues.
  void pageable_copy();
};

}  // namespace streamsan::analyzer
