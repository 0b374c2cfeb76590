// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs programs on the GPU.
//
// THE METHOD. Two host threads make the calls of a program, one after the other, each thread its own. The held
// operation spins until a gate opens. A third thread looks at the marks that the others leave: a kernel counts in
// mapped host memory when it begins and when it is past its wait; a host function and a written value do the same; a
// copy to the host is seen by its effect; a copy or fill of device memory by a kernel of a stream of its own that reads
// it (peek). When nothing has changed for `settle`, the marks and the calls that have returned are noted, the gate is
// opened, and all is waited for. What was noted ran while the held operation had not ended: order was not what kept it
// back.
//
// Nothing can hang: the device's gate opens itself after two seconds, and a watchdog opens the gate of host functions
// and of waits for values after one. A program for which that happened is no evidence (Observation::valid). A host
// function keeps others waiting, since one thread of the driver calls them all: that hides overlap and invents none.
//
// Streams, memory and the two threads serve all programs; events and graphs are made anew for each.
#pragma once

#include <chrono>
#include <memory>

#include "testsuite/gpu/random/observe.h"

namespace streamsan::lab {

class Hardware final : public Executor {
 public:
  Hardware(unsigned devices, std::chrono::microseconds settle);
  ~Hardware() override;
  Observation run(const Program& program) override;

  /// How many devices there are; 0: none, or no driver.
  static unsigned devices();
  /// "NVIDIA H200", "580.159" and so on.
  static std::string gpu();
  static std::string driver();
  static std::string toolkit();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace streamsan::lab
