// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gates keep calls of other threads away while one thread has a launch measured. observers/gates.h has the list of
// these calls.
//
//   g_launch_gate  calls that launch kernels, or have to do with their code: as long as the launch is measured.
//                  Patching code under a running kernel breaks the kernel, and between our wrapper and the start of a
//                  kernel on the GPU lie several microseconds
//   g_wait_gate    calls by which a stream may come to wait for what the program does later, and those that destroy a
//                  stream: only while the measuring thread itself changes code, which waits for the GPU. Some
//                  milliseconds at most
//
// Such a call enters its gate before the real call and leaves it after. The thread that measures closes the gate, and
// goes on once those inside have left. Its time is bounded, so no thread waits for ever. An open gate costs two atomic
// adds to a call.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/hot.h"

namespace streamsan::recorder {

class alignas(kLineBytes) Gate {
 public:
  /// A call begins. Waits while another thread has closed the gate.
  void enter();
  void leave();
  /// Keeps calls out; for a thread that is not inside. False: somebody else has closed it, or those inside did not
  /// leave within the time; nothing has changed.
  bool close(std::uint32_t patience_ms);
  void open();
  /// In the child of a fork: all others are gone.
  void forget();

 private:
  // A thread that enters first counts itself and then looks whether the gate is closed; a thread that closes the gate
  // first closes it and then looks at the count. So, in the single order of these operations, at least one of the two
  // sees the other.
  std::atomic<std::uint32_t> inside_{0};
  std::atomic<std::uint32_t> closed_{0};  // a futex
  int cancel_state_ = 0;  // of the thread that has closed it: it must live to open it. A child does not use it
};

extern constinit Gate g_launch_gate;
extern constinit Gate g_wait_gate;

}  // namespace streamsan::recorder
