// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that wait for each other while they run.
//
//   __global__ void solve(float* x, unsigned char* arrived, int rank, int n) {
//     for (int i = rank * size + me; i < n; i += ranks * size) x[i] += ...;
//     st_release_sys(&arrived[rank], 1);
//     while (ld_acquire_sys(&arrived[0]) == 1) {}
//   }
//
// Launched once on each of several devices, such a kernel has its share of the work from a number or an object that
// says which of them it is, and the order between the shares is made inside, by loads that see what other devices
// store. So no two of its accesses are known to meet another kernel's.
//
// Needed are both: a loop that waits, which goes on or ends by a word that it reads by an acquire, relaxed, volatile or
// atomic access; and something of system scope, which is what reaches other devices. A kernel that waits for its own
// blocks alone (a scan that looks back) has device scope. A meeting that is not understood is reported as a race.
#pragma once

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer::device {

/// In its body, or in that of a function that it calls.
bool meets_others(const clang::FunctionDecl& kernel);

}  // namespace streamsan::analyzer::device
