// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel launch becomes a record: the pointers among its arguments, a hash that differs between launches that differ
// in a scalar, and the bytes it touched, if they are known (learning.h).
#pragma once

#include <cstdint>

#include "interposer/functions.h"
#include "interposer/launch_arguments.h"
#include "interposer/learning.h"
#include "interposer/streams.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

struct LaunchCall {
  std::uint64_t function;    ///< CUfunction or CUkernel
  std::uint64_t extents[6];  ///< grid x y z, block x y z
  StreamArgument stream;
  void** params;               ///< kernelParams, may be null
  void** extra;                ///< packed arguments, may be null
  std::uint64_t shared_bytes;  ///< dynamic shared memory
  bool programmatic;
  std::uint16_t api;
};

/// One launch, from before the real call to after it. Lives on the stack of the wrapper.
class Launch {
 public:
  explicit Launch(const LaunchCall& call) : call_(call) {}
  /// Before the real call: has the launch measured, if that is wanted. The arguments are read only then: a call the
  /// driver refuses need not have valid ones. `frame`: __builtin_frame_address(0) of the wrapper.
  void before(const void* frame);
  /// After before(): this very launch is measured.
  [[nodiscard]] bool measured() const { return measuring_; }
  [[nodiscard]] const StreamArgument& stream() const { return call_.stream; }
  /// Right after the real call. True: it failed, and may have because it was to be measured; that is over, so the call
  /// must be made once more.
  bool wants_retry(bool succeeded);
  /// After wants_retry() answered false, while the caller's arguments are still there. Writes the record if it
  /// succeeded, and says which it is.
  Slot after(bool succeeded, const void* frame);
  /// The launch had an attribute that records this event: `when`, of trace::kAtStart and trace::kAtTrigger. After
  /// after().
  void recorded_event(std::uint64_t event, std::uint64_t flags, std::uint16_t when) const;

  /// Instead of all that: the launch is a node of a graph (graph_image.h), and no call is made. prepare_node() reads
  /// the arguments and writes what the record refers to; fill_node() fills a record that has these continuations.
  void prepare_node();
  [[nodiscard]] unsigned node_continuations() const { return continuations(known_); }
  void fill_node(trace::Record& record) const;
  [[nodiscard]] unsigned pointers() const { return arguments_.count(); }
  [[nodiscard]] std::uint64_t pointer(unsigned index) const { return arguments_.pointers()[index]; }

 private:
  [[nodiscard]] unsigned continuations(const LaunchKnowledge& known) const;
  /// All but thread, stack and the function that was called.
  void fill(trace::Record& record, const LaunchKnowledge& known) const;
  void read();
  [[nodiscard]] std::uint64_t threads() const;
  [[nodiscard]] const char* parameter_bytes(unsigned index) const;
  /// See promise_key(); 0: it cannot be distinguished from other launches.
  [[nodiscard]] std::uint64_t node_key() const;
  void write_arguments() const;

  const LaunchCall& call_;
  const Function* function_ = nullptr;
  LaunchSubject subject_;  ///< once read_
  LaunchArguments arguments_;
  LaunchKnowledge known_;   ///< of a node
  std::uint64_t hash_ = 0;  ///< of all arguments
  bool read_ = false;
  bool measuring_ = false;
  bool inside_ = false;  ///< of the gate
  std::uint32_t stack_ = 0;
};

}  // namespace streamsan::recorder
