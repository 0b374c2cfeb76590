// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gate: while one thread has a launch measured, no other thread launches anything.
//
// Code that is patched or unpatched under a running kernel breaks it, and a launch needs several microseconds from the
// moment it has passed us to the moment the GPU can have begun it. So every launch enters the gate before the real call
// and leaves it after; who measures closes it, and has it for himself once those inside have left. He is bounded in
// time (the agent's patience), so nobody waits for ever. Open, the gate costs two atomic adds to a launch.
#pragma once

#include <cstdint>

namespace streamsan::recorder {

class Gate {
 public:
  /// A launch begins. Waits while another thread has the gate.
  static void enter();
  static void leave();
  /// Keeps launches out; for a thread that is not inside. False: somebody else has it, or those inside did not leave
  /// within the time; nothing has changed.
  static bool close(std::uint32_t patience_ms);
  static void open();
};

}  // namespace streamsan::recorder
