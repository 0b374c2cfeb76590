// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Switches have no default, so that the compiler reports a new case without words.
#include "judge/wording.h"

#include <string_view>

#include "judge/framework_words.h"
#include "judge/possible_words.h"
#include "ordering/rules.h"

namespace streamsan::judge {
namespace {

using ordering::Access;
using ordering::AccessMode;
using ordering::AccessSource;
using ordering::Hazard;
using ordering::HazardKind;
using ordering::NearestEdge;

/// The function to call, in the API that the program uses.
struct Calls {
  explicit Calls(bool runtime)
      : record(runtime ? "cudaEventRecord" : "cuEventRecord"),
        wait(runtime ? "cudaStreamWaitEvent" : "cuStreamWaitEvent"),
        sync_stream(runtime ? "cudaStreamSynchronize" : "cuStreamSynchronize"),
        sync_event(runtime ? "cudaEventSynchronize" : "cuEventSynchronize"),
        free_async(runtime ? "cudaFreeAsync" : "cuMemFreeAsync"),
        non_blocking(runtime ? "cudaStreamNonBlocking" : "CU_STREAM_NON_BLOCKING"),
        add_edges(runtime ? "cudaGraphAddDependencies" : "cuGraphAddDependencies") {}
  std::string record, wait, sync_stream, sync_event, free_async, non_blocking, add_edges;
};

using judge::op;
std::string op(ordering::OpId id) { return "op #" + std::to_string(static_cast<std::uint64_t>(id)); }

std::string third_person(const Access& access) {
  switch (access.source) {
    case AccessSource::Free:
      return "frees";
    case AccessSource::Allocate:
      return "allocates";
    case AccessSource::Copy:
    case AccessSource::Fill:
    case AccessSource::Kernel:
    case AccessSource::Host:
      break;
  }
  if (access.mode == AccessMode::Read) return "reads";
  if (access.mode == AccessMode::Atomic) return "updates by atomics";
  return access.mode == AccessMode::Write ? "writes" : "may write";
}

std::string progressive(const Access& access) {
  switch (access.source) {
    case AccessSource::Free:
      return "be freeing";
    case AccessSource::Allocate:
      return "be waiting to allocate";
    case AccessSource::Copy:
    case AccessSource::Fill:
    case AccessSource::Kernel:
    case AccessSource::Host:
      break;
  }
  if (access.mode == AccessMode::Read) return "be reading";
  if (access.mode == AccessMode::Atomic) return "be updating by atomics";
  return access.mode == AccessMode::Write ? "be writing" : "be using";
}

std::string subject(const std::string& what, const Access& access, const std::string& stream) {
  return what + (access.on_stream && !ordering::is_inside_graph(access) ? " on " + stream : "");
}

/// " for stream 2": where a pool's block goes next; nothing when it is free for all.
std::string in_stream_of(const Hazard& hazard, const Nouns& nouns) {
  return hazard.later.on_stream ? " for use in " + nouns.later_stream : "";
}

/// "stream 2 waits for it", or for what the host does itself, "the host".
std::string later_party(const Hazard& hazard, const Nouns& nouns) {
  return hazard.later.on_stream ? nouns.later_stream : "the host";
}

bool is_double_free(const Hazard& hazard) {
  return hazard.kind == HazardKind::UseAfterFree && hazard.later.source == AccessSource::Free;
}

/// By a graph that was made while the block lived.
bool is_use_of_freed_block(const Hazard& hazard) {
  return hazard.kind == HazardKind::UseAfterFree && hazard.allocation.block;
}

bool is_of_pool(const Hazard& hazard) {
  return hazard.kind == HazardKind::ReleaseWhileInUse || hazard.kind == HazardKind::ReuseWhileInUse;
}

/// What the later one did, where the sentence has named the host: "its read" for "the host's read".
std::string later_of_host(const Hazard& hazard, const Nouns& nouns) {
  if (!nouns.later_itself) return nouns.later;
  return hazard.later.mode == ordering::AccessMode::Read ? "its read" : "its write";
}

/// Kernels of one stream that overlap.
std::string why_dependent(const Hazard& hazard, const Nouns& nouns) {
  const std::string later = nouns.later + op(hazard.later);
  const std::string earlier = nouns.earlier + op(hazard.earlier);
  const std::string may_begin =
      later + " is launched with programmatic serialisation, so it may begin before " + earlier + " has ended, and ";
  const bool between = hazard.explanation.record != ordering::kNoOp;
  const std::string in_front = nouns.between + " (" + op(hazard.explanation.record) + ")";
  switch (hazard.explanation.use) {
    case ordering::DependentUse::NeverWaits:
      return may_begin + "it never waits for the kernel in front of it.";
    case ordering::DependentUse::BeforeWait:
      return may_begin + "it touches the memory before it waits for " + (between ? in_front : "that kernel") + ".";
    case ordering::DependentUse::AfterWait:
      return later + " waits for " + in_front + " right in front of it, and that did not wait for " + earlier +
             ": the wait covers no more than the kernel in front has waited for.";
  }
  return {};
}

std::string wait_in_kernel(const Hazard& hazard, const Nouns& nouns) {
  const std::string wait = "call cudaGridDependencySynchronize() in ";
  if (hazard.explanation.use == ordering::DependentUse::AfterWait)
    return wait + nouns.between_at + "; or launch that without programmatic serialisation";
  return wait + nouns.later + " before it touches the memory; or launch " + nouns.later_at +
         " without programmatic serialisation";
}

std::string wait_for_earlier(const Hazard& hazard, const Nouns& nouns) {
  Calls calls(nouns.runtime);
  if (!hazard.earlier.on_stream) {
    return "do " + nouns.earlier_at + " and " + nouns.later_at + " one after the other";
  }
  if (!hazard.later.on_stream) {
    std::string out = "call " + calls.sync_stream + "(" + nouns.earlier_stream + "), or " + calls.sync_event +
                      " for an event recorded after " + nouns.earlier_at + ", before " + nouns.later_at;
    if (hazard.later.source == AccessSource::Free && hazard.allocation.kind == ordering::MemoryKind::DeviceAsync) {
      out += "; or free it in stream order with " + calls.free_async + " in " + nouns.earlier_stream;
    }
    if (overwrites_source(hazard)) out += "; or write to another buffer";
    return out;
  }
  return "record an event on " + nouns.earlier_stream + " after " + nouns.earlier_at + " and call " + calls.wait + "(" +
         nouns.later_stream + ", event) before " + nouns.later_at;
}

/// What the caller of a library can do about what happens inside of it.
std::string around_library(const Hazard& hazard, const Nouns& nouns) {
  std::string out = "both are done inside of " + nouns.inside + ", where the program can add no call; ";
  const bool host_memory = hazard.allocation.kind == ordering::MemoryKind::Pinned ||
                           hazard.allocation.kind == ordering::MemoryKind::Registered;
  const bool of_copy = hazard.earlier.source == AccessSource::Copy || hazard.later.source == AccessSource::Copy;
  if (hazard.explanation.nearest == NearestEdge::NonBlockingStream) {
    out += "give the library a stream that was created without " + Calls(nouns.runtime).non_blocking + ", ";
  } else if (host_memory && of_copy) {
    out += "give the library pageable memory (malloc): today's driver completes such copies before the call returns, ";
  }
  return out + "report it to the library's authors, or suppress it by its fingerprint";
}

/// For a block of a pool: the pool can do the waiting, if it knows.
std::string tell_the_pool(const Hazard& hazard, const Nouns& nouns) {
  std::string out;
  if (hazard.earlier.on_stream) {
    const std::string before = hazard.kind == HazardKind::ReuseWhileInUse ? " before it goes back" + nouns.freed_at
                                                                          : " before " + nouns.later_at;
    out = "tell the pool that " + nouns.earlier_stream + " uses the block (record_stream() of the pool, " +
          "streamsan_block_used())" + before + "; or ";
  }
  return out + wait_for_earlier(hazard, nouns);
}

}  // namespace

std::string op(const Access& access) {
  return access.op == ordering::kNoOp ? "" : " (op #" + std::to_string(static_cast<std::uint64_t>(access.op)) + ")";
}

report::Hazard hazard_of(const Hazard& hazard) {
  switch (hazard.kind) {
    case HazardKind::ReadAfterWrite:
      return report::Hazard::ReadAfterWrite;
    case HazardKind::WriteAfterRead:
      return report::Hazard::WriteAfterRead;
    case HazardKind::WriteAfterWrite:
      return report::Hazard::WriteAfterWrite;
    case HazardKind::UseBeforeAllocate:
      return report::Hazard::UseBeforeAlloc;
    case HazardKind::UseAfterFree:
      return is_double_free(hazard) ? report::Hazard::DoubleFree : report::Hazard::UseAfterFree;
    case HazardKind::FreeWhileInUse:
      return report::Hazard::FreeWhileInUse;
    case HazardKind::ReleaseWhileInUse:
      return report::Hazard::ReleaseWhileInUse;
    case HazardKind::ReuseWhileInUse:
      return report::Hazard::ReuseWhileInUse;
  }
  return report::Hazard::ReadAfterWrite;
}

report::Cause cause_of(NearestEdge nearest) {
  switch (nearest) {
    case NearestEdge::None:
      return report::Cause::NoEdge;
    case NearestEdge::EventRecordedTooEarly:
      return report::Cause::RecordedTooEarly;
    case NearestEdge::EventNeverRecorded:
      return report::Cause::NeverRecorded;
    case NearestEdge::EventNotWaitedFor:
      return report::Cause::NeverWaited;
    case NearestEdge::SyncTooEarly:
      return report::Cause::SyncTooEarly;
    case NearestEdge::NonBlockingStream:
      return report::Cause::NonBlocking;
    case NearestEdge::OtherDevice:
      return report::Cause::OtherDevice;
    case NearestEdge::DependentLaunch:
      return report::Cause::DependentLaunch;
    case NearestEdge::LaunchEvent:
      return report::Cause::LaunchEvent;
    case NearestEdge::SourceOrder:
      return report::Cause::SourceOrder;
    case NearestEdge::NoPathInGraph:
      return report::Cause::NoPathInGraph;
  }
  return report::Cause::NoEdge;
}

bool event_at_hand(const Hazard& hazard, const Nouns& nouns) {
  switch (hazard.explanation.nearest) {
    case NearestEdge::EventRecordedTooEarly:
    case NearestEdge::EventNotWaitedFor:
    case NearestEdge::LaunchEvent:
      return nouns.record_in_reach && !nouns.event_gone;
    case NearestEdge::EventNeverRecorded:
      return nouns.wait_in_reach && !nouns.event_gone;
    case NearestEdge::None:
    case NearestEdge::SyncTooEarly:
    case NearestEdge::NonBlockingStream:
    case NearestEdge::DependentLaunch:
    case NearestEdge::SourceOrder:
    case NearestEdge::NoPathInGraph:
      return true;  // about no event
    case NearestEdge::OtherDevice:
      return nouns.wait_in_reach;
  }
  return true;
}

bool overwrites_source(const Hazard& hazard) {
  return hazard.kind == HazardKind::WriteAfterRead && hazard.later.source == AccessSource::Host &&
         hazard.earlier.source == AccessSource::Copy;
}

std::string message(const Hazard& hazard, const Nouns& nouns) {
  const std::string later = subject(nouns.later_actor, hazard.later, nouns.later_stream);
  const std::string earlier = subject(nouns.earlier_actor, hazard.earlier, nouns.earlier_stream);
  const std::string& memory = nouns.memory;
  const std::string still = memory + " that " + earlier + " may still " + progressive(hazard.earlier) + ".";
  if (nouns.unseen) {
    return "the host changes " + memory + " between the call of " + earlier + " and the copy itself.";
  }
  switch (hazard.kind) {
    case HazardKind::ReadAfterWrite:
    case HazardKind::WriteAfterRead:
    case HazardKind::WriteAfterWrite:
    case HazardKind::FreeWhileInUse:
      return later + " " + third_person(hazard.later) + " " + still;
    case HazardKind::ReleaseWhileInUse:
      return "a block of " + memory + " goes back to its pool" + in_stream_of(hazard, nouns) + " that " + earlier +
             " may still " + progressive(hazard.earlier) + ".";
    case HazardKind::ReuseWhileInUse:
      return "the pool hands out a block" + in_stream_of(hazard, nouns) + " again, " + still;
    case HazardKind::UseBeforeAllocate:
      return later + " may use " + memory + " before " + earlier + " has allocated it.";
    case HazardKind::UseAfterFree:
      if (is_double_free(hazard)) return later + " frees " + memory + " that " + earlier + " has freed already.";
      if (is_use_of_freed_block(hazard))
        return later + " uses a block of " + memory + " that went back to its pool after the graph was made.";
      return later + " uses " + memory + " that " + earlier + " has given back.";
  }
  return {};
}

std::string explanation(const Hazard& hazard, const Nouns& nouns) {
  const ordering::Explanation& why = hazard.explanation;
  const std::string unseen =
      hazard.order_known
          ? ""
          : " StreamSan does not see all of this process's order (see the warning); the unseen part may order the two.";
  if (hazard.order == ordering::Order::Latent && hazard.leaned_on) {
    const std::string dependent = why.nearest == NearestEdge::DependentLaunch ? why_dependent(hazard, nouns) + " " : "";
    return dependent + (dependent.empty() ? "today's" : "Today's") + " driver orders the two by " +
           ordering::rule_id(*hazard.leaned_on) + " (" + ordering::rule_text(*hazard.leaned_on) +
           ") No document promises that it always will." + unseen;
  }
  if (hazard.kind == HazardKind::UseAfterFree) {
    const bool by_graph = is_use_of_freed_block(hazard);
    return (by_graph ? "the graph keeps the addresses that it was made with, and the pool may hand the block out to "
                       "anybody. "
                     : "") +
           nouns.later + op(hazard.later) + (by_graph ? " was launched after " : " was submitted after ") +
           nouns.earlier + op(hazard.earlier) + (by_graph ? "." : ": no order of the two makes that right.") +
           (hazard.certainty == ordering::Certainty::Possible && hazard.order_known ? why_possible(hazard, nouns)
                                                                                    : "") +
           unseen;
  }
  std::string text;
  switch (why.nearest) {
    case NearestEdge::None:
      if (hazard.later.on_stream && hazard.earlier.on_stream) {
        text = "nothing makes " + nouns.later_stream + " wait for " + nouns.earlier_stream + " between " +
               nouns.earlier + op(hazard.earlier) + " and " + nouns.later + op(hazard.later) + ".";
      } else if (hazard.earlier.on_stream) {
        text = "the host does not wait for " + nouns.earlier + op(hazard.earlier) + " on " + nouns.earlier_stream +
               " before " + later_of_host(hazard, nouns) + ".";
      } else {
        text = "nothing orders " + nouns.later + " after " + nouns.earlier + ".";
      }
      break;
    case NearestEdge::EventRecordedTooEarly:
      text = later_party(hazard, nouns) + " waits for " + nouns.event +
             (why.wait == ordering::kNoOp ? "" : " (" + op(why.wait) + ")") + ", but it was recorded at " +
             op(why.record) + ", BEFORE " + nouns.earlier + op(hazard.earlier) + ".";
      break;
    case NearestEdge::EventNeverRecorded:
      text = later_party(hazard, nouns) + " waits for " + nouns.event + " (" + op(why.wait) +
             "), but nothing had recorded it by then: such a wait does nothing.";
      break;
    case NearestEdge::EventNotWaitedFor:
      text = nouns.event + " is recorded (" + op(why.record) + ") after " + nouns.earlier + op(hazard.earlier) +
             ", but " + later_party(hazard, nouns) + " does not wait for it before " + later_of_host(hazard, nouns) +
             op(hazard.later) + ".";
      break;
    case NearestEdge::SyncTooEarly:
      text = "the host did synchronise with " + nouns.earlier_stream + ", but before " + nouns.earlier +
             op(hazard.earlier) + " was submitted.";
      break;
    case NearestEdge::OtherDevice:
      text = nouns.wait_at + " waits for all work of " + nouns.waited_for + ", and " + nouns.earlier +
             op(hazard.earlier) + " runs " + nouns.runs_where + ".";
      break;
    case NearestEdge::DependentLaunch:
      text = why_dependent(hazard, nouns);
      break;
    case NearestEdge::LaunchEvent:
      text = later_party(hazard, nouns) + " waits for " + nouns.event + " (" + op(why.wait) +
             "), which the launch of " + nouns.earlier + op(hazard.earlier) +
             " records itself: it fires when the kernel begins or triggers, not " + "when it has ended.";
      break;
    case NearestEdge::SourceOrder:
      text = nouns.later + op(hazard.later) + " may read its source out of stream order (srcAccessOrder): what is in " +
             "front of it in " + nouns.later_stream + " need not be done by then.";
      break;
    case NearestEdge::NoPathInGraph:
      text = "no path of edges leads from " + nouns.earlier + " to " + nouns.later +
             ", so each launch of the graph may run them at the same time.";
      break;
    case NearestEdge::NonBlockingStream: {
      const bool earlier_is_legacy = nouns.earlier_life.kind == ordering::StreamKind::Legacy;
      text = (earlier_is_legacy ? nouns.later_stream : nouns.earlier_stream) + " is non-blocking: the legacy default " +
             "stream neither waits for it nor makes it wait.";
      break;
    }
  }
  if (is_of_pool(hazard) && hazard.earlier.on_stream) {
    text += " The pool was not asked to wait for " + nouns.earlier_stream + ".";
  }
  if (nouns.unseen) text += " The write itself was not seen: the bytes were compared at the call and before the copy.";
  if (hazard.perhaps_signalled && hazard.order_known) {
    text += " A host function behind " + nouns.earlier + op(hazard.earlier) +
            " may have notified the host that it is done: that order is not seen.";
  } else if (hazard.perhaps_passed_on && hazard.order_known) {
    text += " But a host thread had waited for " + nouns.earlier + op(hazard.earlier) +
            " by then, and may have passed that on in a way that is not seen (plain atomics, for example); " +
            "streamsan_happens_before() and streamsan_happens_after() say so.";
  } else if (hazard.awaits_value != Hazard::Awaits::No && hazard.order_known) {
    const bool earlier = hazard.awaits_value == Hazard::Awaits::Earlier;
    text += " But " + (earlier ? nouns.earlier_stream : nouns.later_stream) + " waits for a value in memory: if " +
            (earlier ? nouns.later : nouns.earlier) + " comes before the write of it, that orders the two (R-MOP-04).";
  } else if (hazard.certainty == ordering::Certainty::Possible && hazard.order_known) {
    text += why_possible(hazard, nouns);
  }
  if (!nouns.failed.call.empty()) text += " " + failure(nouns.failed);
  return text + unseen;
}

std::string failure(const FailureNouns& nouns) {
  return nouns.call + nouns.at + " failed with " + nouns.result + ": " + nouns.consequence + ".";
}

std::string failure_fix(const FailureNouns& nouns) {
  return "check the result of " + nouns.call + nouns.at + (nouns.advice.empty() ? "" : "; " + nouns.advice) + ".";
}

std::string fix(const Hazard& hazard, const Nouns& nouns) {
  if (!nouns.failed.call.empty() && hazard.order != ordering::Order::Latent) return failure_fix(nouns.failed);
  if (!nouns.inside.empty()) return around_library(hazard, nouns) + ".";
  if (const std::string words = framework_fix(hazard, nouns); !words.empty()) return words + ".";
  Calls calls(nouns.runtime);
  std::string out;
  if (hazard.explanation.nearest == NearestEdge::DependentLaunch) {
    out = wait_in_kernel(hazard, nouns);
  } else if (is_of_pool(hazard)) {
    out = tell_the_pool(hazard, nouns);
  } else if (hazard.order == ordering::Order::Latent) {
    out = wait_for_earlier(hazard, nouns);
  } else if (is_double_free(hazard)) {
    out = "remove " + nouns.later_at + " or " + nouns.earlier_at;
  } else if (is_use_of_freed_block(hazard)) {
    out = "keep the block until the graph's last launch, or instantiate the graph again with memory that still exists";
  } else if (hazard.kind == HazardKind::UseAfterFree) {
    out = "move " + nouns.earlier_at + " behind " + nouns.later_at;
  } else {
    // Without the event the repair takes a new one.
    switch (event_at_hand(hazard, nouns) ? hazard.explanation.nearest : NearestEdge::None) {
      case NearestEdge::None:
      case NearestEdge::DependentLaunch:
        out = wait_for_earlier(hazard, nouns);
        break;
      case NearestEdge::SourceOrder:
        out = "give the copy the access order CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, or let the host wait for " +
              nouns.earlier_at + " before " + nouns.later_at;
        break;
      case NearestEdge::NoPathInGraph:
        out = "add an edge from " + nouns.earlier_at + " to " + nouns.later_at + " (" + calls.add_edges +
              "()), or during capture, record an event after the first and wait for it before the second";
        break;
      case NearestEdge::LaunchEvent:
        out = "call " + calls.record + "(" + nouns.event + ", " + nouns.earlier_stream + ") after " + nouns.earlier_at +
              ", instead of the attribute that records it there";
        break;
      case NearestEdge::EventRecordedTooEarly:
        out = "move " + nouns.record_at + " behind " + nouns.earlier_at;
        out += ", and wait for the event before " + nouns.later_at;
        break;
      case NearestEdge::EventNeverRecorded:
        out = "call " + calls.record + "(" + nouns.event + ", " + nouns.earlier_stream + ") after " + nouns.earlier_at +
              " and before " + nouns.wait_at;
        break;
      case NearestEdge::EventNotWaitedFor:
        if (hazard.later.on_stream) {
          out = "call " + calls.wait + "(" + nouns.later_stream + ", " + nouns.event + ") before " + nouns.later_at;
        } else {
          out = "call " + calls.sync_event + "(" + nouns.event + ") before " + nouns.later_at;
        }
        break;
      case NearestEdge::SyncTooEarly:
        out = "synchronise with " + nouns.earlier_stream + " after " + nouns.earlier_at + " and before " +
              nouns.later_at + "; or ";
        out += wait_for_earlier(hazard, nouns);
        break;
      case NearestEdge::OtherDevice:
        out = "make " + nouns.runs_in + " current before " + nouns.wait_at + "; or ";
        out += wait_for_earlier(hazard, nouns);
        break;
      case NearestEdge::NonBlockingStream:
        out = wait_for_earlier(hazard, nouns) + "; or create the stream without " + calls.non_blocking;
        break;
    }
  }
  return out + ".";
}

}  // namespace streamsan::judge
