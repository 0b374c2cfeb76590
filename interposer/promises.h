// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call of a library reads and writes on the GPU, by the library's documents: its promise.
//
// WHY. Since compute capability 9.0 the kernels behind a matrix product copy their tiles by tensor maps, which NVIDIA's
// Sanitizer does not show, and their code is in a closed library. So of the kernel that most programs launch most often
// only the pointers would be known, and a race with it would be `possible` at most.
//
// A promise belongs to the first kernel that the thread launches within the call. The call may launch several, and
// another one of them may do the reading or the writing: all of them are in one stream, one behind the other, and
// nothing of the program's lies between them, so it makes no difference to the order. It is one footprint of that
// launch more, beside a measured or learned one, and says only what is surely touched: without another footprint the
// launch's pointers count as inferred beside it (trace::kPromised). A captured kernel is a node later, which is given
// the same arguments and so has the same promise.
#pragma once

#include <cstdint>

#include "interposer/launch_arguments.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// A matrix, or several at equal distances, in memory of the device.
struct Matrices {
  std::uint64_t begin = 0;  ///< address
  std::uint64_t width = 0;  ///< bytes of a column
  std::uint64_t columns = 1;
  std::uint64_t pitch = 0;  ///< bytes from column to column
  std::uint64_t count = 1;
  std::uint64_t distance = 0;  ///< bytes from matrix to matrix
};

struct Promise {
  static constexpr unsigned kMost = 4;
  struct Part {
    Matrices what;
    trace::Piece::Mode mode;
  };

  Part parts[kMost] = {};
  unsigned count = 0;

  /// Matrices without elements, and those that a record has no room for, are left out.
  void add(const Matrices& what, trace::Piece::Mode mode);
};

/// The library's call is under way while this lives. If a call is made within another, the outermost counts.
class Promising {
 public:
  explicit Promising(const Promise& promise);
  ~Promising();
  Promising(const Promising&) = delete;
  Promising& operator=(const Promising&) = delete;

 private:
  const Promise promise_;
  const bool outermost_;
};

/// Has the call that this thread is in promised something, and launched no kernel yet?
bool is_promised();
/// The footprint that the promise makes of a launch with these arguments; the promise is kept then. `key`: of the
/// launch if it may be captured, else 0. 0: nothing was promised, or there is no room.
std::uint32_t keep_promise(const LaunchArguments& arguments, std::uint64_t key);
/// Does promised_earlier() have an answer for any launch?
bool any_promised_earlier();
/// The promise of an earlier launch with this key. 0: none.
std::uint32_t promised_earlier(std::uint64_t key);
/// Equal for a launch that is captured and the node that it becomes, whose handle is often another one of the kernel's.
/// `hash`: of all arguments, and of grid and block.
std::uint64_t promise_key(const char* kernel, std::uint64_t hash);

}  // namespace streamsan::recorder
