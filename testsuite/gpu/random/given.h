// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which streams were given nothing but records and waits since the legacy stream acted, and so are nothing that a
// synchronisation waits for (predict.h says why that is asked).
#pragma once

#include <cstddef>
#include <map>

#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

/// Streams are named by numbers of the caller.
class Given {
 public:
  [[nodiscard]] bool only_events(unsigned stream) const {
    const auto found = streams_.find(stream);
    return found != streams_.end() && found->second.only_events;
  }

  /// A step that does something. `legacy`: the legacy stream of its device.
  void note(std::size_t step, Op op, unsigned stream, unsigned legacy) {
    Stream& given = streams_[stream];
    switch (op) {
      case Op::Record:
      case Op::Wait:
        given.last = step + 1;
        given.only_events |= streams_[legacy].last > given.last_work;
        break;
      case Op::Kernel:
      case Op::Copy:
      case Op::Fill:
      case Op::Host:
      case Op::WriteValue:
      case Op::AwaitValue:
      case Op::Hold:
      case Op::Launch:
        given = {.last = step + 1, .last_work = step + 1, .only_events = false};
        break;
      case Op::DestroyStream:
        streams_.erase(stream);
        break;
      default:
        break;
    }
  }

 private:
  /// Numbers of steps from 1; 0: none.
  struct Stream {
    std::size_t last = 0;
    std::size_t last_work = 0;  ///< records and waits aside
    bool only_events = false;   ///< those since that, and behind an action of the legacy stream
  };
  std::map<unsigned, Stream> streams_;
};

}  // namespace streamsan::lab
