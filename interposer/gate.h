// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gate: while one thread has a launch measured, no other thread launches anything.
//
// Patching code under a running kernel breaks the kernel, and between our wrapper and the start of a kernel on the GPU
// lie several microseconds. So every launch enters the gate before the real call and leaves it after. A thread that
// measures closes the gate, and starts once those inside have left. Its time is bounded (the agent's patience), so no
// thread waits for ever. Open, the gate costs two atomic adds to a launch.
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
