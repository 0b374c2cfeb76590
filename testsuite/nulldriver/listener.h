// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the null driver tells the library that stands in for CUPTI (cupti/): calls, operations and waits. Nobody else
// listens, and without it nothing changes.
//
// Calls are numbered from 1 in the order in which they come, as CUPTI numbers them. An operation has the number of the
// call that made it. All three run on the thread of the call, with no lock of the driver's held.
#pragma once

#include <cstdint>

extern "C" {

struct StreamSanNullListener {
  /// A call has entered the export `symbol`, row `row` of the table of the driver's functions.
  void (*called)(const char* symbol, unsigned row, std::uint32_t number);
  /// The call has put an operation on the device, in that stream.
  void (*submitted)(const char* symbol, std::uint32_t number, const void* stream);
  /// The call waits for the device.
  void (*waits)();
};

/// One at a time; null: nobody listens any more.
void streamsan_null_listen(const StreamSanNullListener* listener);
}
