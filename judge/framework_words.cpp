// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/framework_words.h"

#include <vector>

namespace streamsan::judge {
namespace {

using ordering::Access;
using ordering::AccessSource;
using ordering::Hazard;
using ordering::HazardKind;
using ordering::NearestEdge;
using ordering::StreamKind;

/// What Python calls a thing, and the name in the report where that is another.
struct Name {
  std::string text;
  std::string stands_for;  ///< empty: `text` says it
};

/// What would order the two.
struct Advice {
  std::string text;
  bool names_earlier = true;  ///< it says which stream the earlier one is
};

/// Of the default streams; empty: it has none.
std::string default_stream(Framework framework, const StreamLife& life) {
  const bool per_thread = life.kind == StreamKind::PerThread;
  switch (framework) {
    case Framework::None:
      break;
    case Framework::PyTorch:
      if (per_thread) break;
      return "torch.cuda.default_stream(" + (life.device ? std::to_string(*life.device) : "") + ")";
    case Framework::CuPy:  // this and Numba's: of the current device
      return per_thread ? "cupy.cuda.Stream.ptds" : "cupy.cuda.Stream.null";
    case Framework::Numba:
      return per_thread ? "cuda.per_thread_default_stream()" : "cuda.legacy_default_stream()";
  }
  return "";
}

/// `stream`: the report's name of it. `role`: how to call one that has no number.
Name stream_name(Framework framework, const StreamLife& life, const std::string& stream, std::string role) {
  if (life.kind == StreamKind::Legacy || life.kind == StreamKind::PerThread) {
    std::string text = default_stream(framework, life);
    if (!text.empty()) {
      // A program has one of these for each thread, or each device.
      const bool one_of_many = life.kind == StreamKind::PerThread || (life.device && framework != Framework::PyTorch);
      return {.text = std::move(text), .stands_for = one_of_many ? stream : ""};
    }
  } else if (life.number != 0 && life.name.empty()) {
    return {"s" + std::to_string(life.number), stream};
  }
  return {.text = std::move(role), .stands_for = stream};
}

/// ", where s1 is stream 1 and s2 is stream 2", or nothing.
std::string where(const std::vector<Name>& names) {
  std::string out;
  for (const Name& name : names) {
    if (!name.stands_for.empty()) out += (out.empty() ? ", where " : " and ") + name.text + " is " + name.stands_for;
  }
  return out;
}

class Fix {
 public:
  Fix(const Hazard& hazard, const Nouns& nouns)
      : hazard_(hazard),
        nouns_(nouns),
        earlier_(stream_name(nouns.framework, nouns.earlier_life, nouns.earlier_stream, "earlier")),
        later_(stream_name(nouns.framework, nouns.later_life, nouns.later_stream, "later")) {
    if (earlier_.text != later_.text) return;
    // The default streams of two threads, or of two devices.
    earlier_ = {.text = "earlier", .stands_for = nouns.earlier_stream + " (" + earlier_.text + ")"};
    later_ = {.text = "later", .stands_for = nouns.later_stream + " (" + later_.text + ")"};
  }

  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string between() const { return " after " + nouns_.earlier_at + " and before " + nouns_.later_at; }
  [[nodiscard]] std::string wait(const std::string& event) const {
    return nouns_.framework == Framework::Numba ? event + ".wait(" + later_.text + ")"
                                                : later_.text + ".wait_event(" + event + ")";
  }
  [[nodiscard]] std::string stream_waits() const;
  [[nodiscard]] std::string host_waits() const;
  [[nodiscard]] std::string waits() const { return hazard_.later.on_stream ? stream_waits() : host_waits(); }
  [[nodiscard]] Advice by_nearest() const;
  /// Can the program change how the event is used?
  [[nodiscard]] bool event_in_reach() const;
  /// Is it known that the block is of another stream than the earlier one?
  [[nodiscard]] bool made_elsewhere() const;
  [[nodiscard]] std::string keep_memory(const Advice& order) const;
  [[nodiscard]] std::string perhaps_reused(const Advice& order) const;
  /// Which stream the earlier one is, unless `order` says it.
  [[nodiscard]] std::string where_earlier(const Advice& order) const {
    return order.names_earlier ? "" : where({earlier_});
  }

  const Hazard& hazard_;
  const Nouns& nouns_;
  Name earlier_;
  Name later_;
};

std::string Fix::stream_waits() const {
  const std::string names = where({earlier_, later_});
  switch (nouns_.framework) {
    case Framework::None:
      break;
    case Framework::PyTorch:
      return "call " + later_.text + ".wait_stream(" + earlier_.text + ")" + between() + names +
             "; or, with event = torch.cuda.Event(), event.record(" + earlier_.text + ") after the former and " +
             wait("event") + " before the latter";
    case Framework::CuPy:
      return "call event = " + earlier_.text + ".record() after " + nouns_.earlier_at + " and " + wait("event") +
             " before " + nouns_.later_at + names;
    case Framework::Numba:
      return "with event = cuda.event(), call event.record(" + earlier_.text + ") after " + nouns_.earlier_at +
             " and " + wait("event") + " before " + nouns_.later_at + names;
  }
  return "";
}

std::string Fix::host_waits() const {
  return "call " + earlier_.text + ".synchronize(), or event.synchronize() for an event recorded after " +
         nouns_.earlier_at + ", before " + nouns_.later_at + where({earlier_}) +
         (overwrites_source(hazard_) ? "; or write to another buffer" : "");
}

bool Fix::made_elsewhere() const {
  const Access& later = hazard_.later;
  // A block is released and handed out in the stream that it was made in: the allocator keeps blocks by stream. What
  // that stream itself did with the block is before both, so the earlier one is in another. Of a MemPool the later one
  // is a use, and says nothing of the block's stream. cudaMallocAsync has no blocks.
  const bool by_allocator = (hazard_.kind == HazardKind::ReleaseWhileInUse && later.source == AccessSource::Free) ||
                            (hazard_.kind == HazardKind::ReuseWhileInUse && later.source == AccessSource::Allocate);
  return by_allocator && later.on_stream && hazard_.earlier.stream != later.stream;
}

/// Of PyTorch's allocator: it can do the waiting, if it knows. It knows of the stream that the tensor was made in, and
/// record_stream() of that one does nothing.
std::string Fix::keep_memory(const Advice& order) const {
  const std::string freed =
      hazard_.kind == HazardKind::ReuseWhileInUse ? "it is freed" + nouns_.freed_at : nouns_.later_at;
  const std::string unless =
      made_elsewhere() ? " before " : ", if it was made in another stream than " + earlier_.text + ", before ";
  return "call tensor.record_stream(" + earlier_.text + ") for the tensor of " + nouns_.earlier_at + unless + freed +
         where_earlier(order) + "; or " + order.text;
}

bool Fix::event_in_reach() const {
  const NearestEdge nearest = hazard_.explanation.nearest;
  // The program has no name for the event inside of a wait_stream(), but can move the call.
  if (nouns_.in_wait_stream && nearest == NearestEdge::EventRecordedTooEarly) return nouns_.record_in_reach;
  if (nouns_.in_wait_stream && nearest == NearestEdge::EventNotWaitedFor) return false;
  return event_at_hand(hazard_, nouns_);
}

Advice Fix::by_nearest() const {
  const Name event{.text = "event", .stands_for = nouns_.event};
  if (!event_in_reach()) return {waits()};
  switch (hazard_.explanation.nearest) {
    case NearestEdge::None:
    case NearestEdge::DependentLaunch:
    case NearestEdge::LaunchEvent:
    case NearestEdge::SourceOrder:
    case NearestEdge::NoPathInGraph:
      return {waits()};
    case NearestEdge::EventRecordedTooEarly:
      return {.text = "move " + nouns_.record_at + " behind " + nouns_.earlier_at +
                      (nouns_.in_wait_stream ? " and before " : ", and wait for the event before ") + nouns_.later_at,
              .names_earlier = false};
    case NearestEdge::EventNeverRecorded:
      return {"call event.record(" + earlier_.text + ") after " + nouns_.earlier_at + " and before " + nouns_.wait_at +
              where({event, earlier_})};
    case NearestEdge::EventNotWaitedFor:
      if (!hazard_.later.on_stream) return {host_waits()};
      return {.text = "call " + wait("event") + " before " + nouns_.later_at + where({event, later_}),
              .names_earlier = false};
    case NearestEdge::SyncTooEarly:
      if (!hazard_.later.on_stream) return {host_waits()};
      return {"call " + earlier_.text + ".synchronize()" + between() + "; or " + stream_waits()};
    case NearestEdge::OtherDevice:
      return {"make " + nouns_.runs_in + " current before " + nouns_.wait_at + "; or " + waits()};
    case NearestEdge::NonBlockingStream:
      return {waits() +
              (nouns_.framework == Framework::CuPy ? "; or create the stream without non_blocking=True" : "")};
  }
  return {};
}

/// The two may be of two tensors: PyTorch's allocator hands a block out again without a call of CUDA.
std::string Fix::perhaps_reused(const Advice& order) const {
  return order.text + "; or, if the former's tensor was made in another stream than " + earlier_.text +
         " and freed before the latter's was made, call tensor.record_stream(" + earlier_.text +
         ") before it is freed" + where_earlier(order);
}

std::string Fix::text() const {
  // Nothing waits for what the host does.
  if (!hazard_.earlier.on_stream) return "";
  const bool of_pytorch = nouns_.framework == Framework::PyTorch && nouns_.memory_of_framework;
  // Tensors of the host have no record_stream().
  const bool allocator = of_pytorch && ordering::is_on_device(hazard_.allocation.kind);
  const Advice order = hazard_.order == ordering::Order::Latent ? Advice{waits()} : by_nearest();
  switch (hazard_.kind) {
    case HazardKind::ReadAfterWrite:
    case HazardKind::UseBeforeAllocate:
      return order.text;
    case HazardKind::WriteAfterRead:
    case HazardKind::WriteAfterWrite:
      return allocator && hazard_.later.on_stream ? perhaps_reused(order) : order.text;
    case HazardKind::FreeWhileInUse:
      return allocator ? keep_memory(order) : order.text;
    case HazardKind::ReleaseWhileInUse:
    case HazardKind::ReuseWhileInUse:
      if (!of_pytorch) return "";  // the pool of somebody else
      return allocator ? keep_memory({waits()}) : waits();
    case HazardKind::UseAfterFree:
      // No order of the two makes that right.
      if (!allocator || !hazard_.allocation.block) return "";
      return "keep a reference to the tensor as long as the graph is replayed, or capture the graph again with tensors "
             "that live";
  }
  return "";
}

}  // namespace

std::string framework_fix(const Hazard& hazard, const Nouns& nouns) {
  const NearestEdge nearest = hazard.explanation.nearest;
  // What kernels and attributes of launches do is no matter of the framework's streams.
  const bool of_launch = nearest == NearestEdge::DependentLaunch || nearest == NearestEdge::LaunchEvent ||
                         nearest == NearestEdge::NoPathInGraph || nearest == NearestEdge::SourceOrder;
  return nouns.framework == Framework::None || of_launch ? "" : Fix(hazard, nouns).text();
}

}  // namespace streamsan::judge
