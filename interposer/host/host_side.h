// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What driver calls mean for host memory: which memory they lend, and what the host has waited for. Read from the
// record of the call, so that arguments are decoded once.
#pragma once

#include "interposer/streams.h"
#include "interposer/writer.h"
#include "ordering/types.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// The record of a call, kept beyond its publication: the judge may have punched it out of the file by then.
struct CallWords {
  explicit CallWords(Slot slot);

  bool empty;
  trace::Kind kind{};
  std::uint16_t api = 0;
  std::uint64_t position = 0;
  std::uint16_t flags = 0;
  std::uint64_t w[trace::kRecordWords] = {};
  trace::Shape shape{};  ///< of a Copy

  /// As in the record itself.
  template <trace::Kind kKind>
  [[nodiscard]] const trace::Words<kKind>& as() const {
    return *reinterpret_cast<const trace::Words<kKind>*>(w);
  }
  [[nodiscard]] const trace::InStream& in_stream() const { return *reinterpret_cast<const trace::InStream*>(w); }
};

/// The stream that the call names; a special one with the context it belongs to.
StreamArgument stream_of(const CallWords& call);
/// Has the host waited for the stream, now that the Copy has returned? (R-CPY-01..05)
bool host_waited_in(const CallWords& copy);
/// May the host access memory that was given by such an allocation?
bool is_host_memory(ordering::MemoryKind kind);

/// After cuInit: may pages be protected from the host without the devices noticing? Not where a device goes by the
/// host's page tables (address translation services, as on Grace): a page that the host cannot access it cannot either,
/// perhaps.
void look_at_devices();

/// Before the real call: memory that goes away is no longer guarded.
void host_side_before(const CallWords& call);
/// The real call has succeeded. `callers_stack`: SS_CALLERS_STACK() of the wrapper.
void host_side_after(const CallWords& call, const void* callers_stack);
/// The same for a part of the batch that the call was.
void host_side_of_part(const CallWords& batch, const trace::BatchPart& part, const void* callers_stack);

}  // namespace streamsan::recorder
