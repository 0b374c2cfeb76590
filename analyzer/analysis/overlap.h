// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two accesses of related memory have bytes in common, and whether they conflict.
//
// An access begins at an offset; its call gives its length. The answer is known if the distance of the two is a number,
// or equals the length of the first one (`p` with n * 4 bytes and `p + n` of a float*). They overlap if the first one
// is certainly longer than the distance. Anything else is Maybe: the sign of a variable is not known, nor its value in
// another round of a loop, so slices at `i * n` and `k * n` are never assumed to overlap.
//
// If the call does not give the length, as for most kernels, the access is assumed to be long: it certainly overlaps an
// access that begins at the same place, perhaps one that begins later, and none that ends before it begins. Errs to
// miss kernels that reach back from the pointer they are given.
//
// A kernel may leave a part of the buffer out (ir::Part). That matters if the two begin at the same place. An access to
// the inside overlaps another inside, and an access that begins at the front and is more than a few elements long, but
// no margin. Two accesses that begin at the same integer of the launch overlap. All else is Maybe.
#pragma once

#include "analyzer/analysis/order.h"

namespace streamsan::analyzer {

/// Whether something holds: certainly not, perhaps, certainly.
enum class Sure : std::uint8_t { No, Maybe, Yes };

Sure overlap(const Values& values, const Pending& a, const Pending& b);
/// One access is a kernel's that uses indices read from memory; the other one is such an access as well, or goes to a
/// part. They may be disjoint although both begin at their pointer.
bool are_by_lists(const Values& values, const Pending& a, const Pending& b);
/// The access is a kernel's, and its place in the memory is not known.
bool is_somewhere(const Values& values, const Pending& access);
/// As overlap(), for a message, whose length the library's call gives.
Sure message_overlap(const Values& values, const Pending& message, const Pending& work);
/// As overlap(), for a host access `touch`, which may go to one element of a buffer that the device uses as a whole.
Sure host_overlap(const Values& values, const Pending& earlier, const Pending& touch);
/// The mode certainly writes. False for Unknown.
bool writes(ir::Mode mode);
/// At least one of the two writes.
Sure conflict(ir::Mode a, ir::Mode b);
/// conflict() is Maybe only because the one side is a kernel whose code is not in sight, and the other side surely
/// writes. The kernel is passed the pointer, and programs do not pass a kernel pointers that it does not use.
bool presumed_conflict(const ir::Op& op, ir::Mode mode, const ir::Op& other, ir::Mode other_mode);

}  // namespace streamsan::analyzer
