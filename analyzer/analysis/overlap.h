// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two accesses of related memory have bytes in common, and whether what they do there can fight.
//
// An access begins at an offset and is as long as the call says. Where the distance of two is a number, or is as long
// as the first of them is (`p` with n * 4 bytes and `p + n` of a float*), it is known whether they overlap; where
// the first is certainly longer than the distance, they do. Anything else is Maybe: nothing is known of the sign of a
// variable, nor of what it is in another round of a loop, so slices at `i * n` and `k * n` are never taken to meet.
//
// An access whose length the call does not say, a kernel's above all, is taken to be long: it certainly meets what
// begins at the same place, and perhaps what comes after, but nothing that ends before it. Errs to miss kernels that
// reach back from the pointer they are given.
// A kernel that leaves a part out (ir::Part) is asked about it where the two begin at one place: its inside meets what
// begins there and is more than a few elements long, another inside, but no margin; what begins where an integer of the
// launch says meets what begins at the same. All the rest is Maybe.
#pragma once

#include "analyzer/analysis/order.h"

namespace streamsan::analyzer {

/// What is known of a relation.
enum class Sure : std::uint8_t { No, Maybe, Yes };

Sure overlap(const Values& values, const Pending& a, const Pending& b);
/// One access is a kernel's that uses indices read from memory; the other one is such an access as well, or goes to a
/// part. They may be disjoint although both begin at their pointer.
bool are_by_lists(const Values& values, const Pending& a, const Pending& b);
/// It is not known where in its memory a kernel's access is.
bool is_somewhere(const Values& values, const Pending& access);
/// As overlap(), for a message, whose length the library's call gives.
Sure message_overlap(const Values& values, const Pending& message, const Pending& work);
/// The same, `touch` being one of the host: it goes to an element of what the device uses as a whole.
Sure host_overlap(const Values& values, const Pending& earlier, const Pending& touch);
/// Surely; of Unknown it is not known.
bool writes(ir::Mode mode);
/// At least one writes, and the other does something.
Sure conflict(ir::Mode a, ir::Mode b);
/// conflict() is Maybe, but only because the one side is a kernel whose code is not in sight: it is given the pointer,
/// nobody gives a kernel what it does not use, and the other side surely writes.
bool presumed_conflict(const ir::Op& op, ir::Mode mode, const ir::Op& other, ir::Mode other_mode);

}  // namespace streamsan::analyzer
