// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See judge.h. The reader has checked all lengths.
#include "judge/judge.h"

#include <algorithm>
#include <utility>

#include "judge/transfers.h"
#include "judge/waits.h"
#include "ordering/api/row.h"
#include "report/text.h"

namespace streamsan::judge {

using ordering::Form;
using ordering::StreamId;
using ordering::ThreadId;
using trace::Item;
using trace::Kind;
using trace::Record;

namespace {

Form form_of(const Record& record) { return record.flags & trace::kAsyncForm ? Form::Asynchronous : Form::Synchronous; }

/// Is the record no call, and may so be written in the middle of one?
bool is_remark(Kind kind) {
  return kind == Kind::HostIdle || kind == Kind::GpuTime || kind == Kind::ThreadOrder || kind == Kind::NodeMade ||
         kind == Kind::Mark || kind == Kind::Ask;
}

/// Does such a record say that its thread has called CUDA? Definitions, accesses by the host and annotations do not.
bool makes_calls(Kind kind) { return kind < Kind::Footprint && !trace::is_definition(kind); }

}  // namespace

void Judge::hazard(const ordering::Hazard& hazard) {
  if (probing_) {
    probe_hit_ = true;
    return;
  }
  if (!ended_by_.empty() || known_of_launch(hazard)) return;
  using Awaits = ordering::Hazard::Awaits;
  const bool order_known = hidden_order_.empty();
  const Awaits awaits = order_known ? value_waits_.who_waits(hazard) : Awaits::No;
  const FailedCall* failed = order_known ? failed_calls_.behind(hazard) : nullptr;
  std::uint32_t index = kNotKept;
  if (!order_known || (awaits != Awaits::No && hazard.certainty == ordering::Certainty::Certain)) {
    ordering::Hazard doubtful = hazard;  // copied only here: a race in a loop comes this way each time
    doubtful.certainty = ordering::Certainty::Possible;
    doubtful.order_known = order_known;
    doubtful.awaits_value = awaits;
    index = hazards_.add(doubtful, failed);
  } else {
    ask_about(hazard);
    index = hazards_.add(hazard, failed);
  }
  note_release(hazard, index);
  if (awaits != Awaits::No && index != kNotKept) value_waits_.keep(hazard, awaits, index);
}

/// Asks for both kernels, also for one whose bytes are exact this time: both have to be measured in one turn.
void Judge::ask_about(const ordering::Hazard& hazard) {
  if (hazard.certainty == ordering::Certainty::Certain) last_certain_ = {hazard.earlier.op, hazard.later.op};
  if (hazard.certainty != ordering::Certainty::Possible || hazard.perhaps_signalled || hazard.perhaps_passed_on) return;
  // Who waits for others does not end while a measurement keeps them away.
  if (hazard.earlier.signalled || hazard.later.signalled) return;
  // The sure bytes of a launch come first: its learned ones, which mostly hold the same, decide nothing then.
  if (last_certain_ == std::pair(hazard.earlier.op, hazard.later.op)) return;
  auto is_kernel = [](const ordering::Access& a) { return a.source == ordering::AccessSource::Kernel; };
  // No measurement shows what is touched through a texture.
  auto decides = [&](const ordering::Access& a) { return is_kernel(a) && !a.bounded && (!a.exact || a.learned); };
  if (!decides(hazard.earlier) && !decides(hazard.later)) return;
  for (const ordering::Access* access : {&hazard.earlier, &hazard.later}) {
    auto index = static_cast<std::uint32_t>(access->function);
    if (is_kernel(*access) && index != 0) asking_.want(places_.kernel(index).trace_id, access->site);
  }
}

void Judge::note_hidden_order(std::string_view what) {
  if (hidden_order_.empty()) hidden_order_ = what;
}

Judge::Unmodelled& Judge::unmodelled_function(std::string_view symbol) {
  auto known = std::find_if(unmodelled_.begin(), unmodelled_.end(),
                            [symbol](const Unmodelled& each) { return each.symbol == symbol; });
  if (known == unmodelled_.end()) {
    const api::Row* row = api::find_row(symbol);
    const bool shares = row && row->effect.kind == api::EffectKind::Share;
    known = unmodelled_.insert(unmodelled_.end(), {std::string(symbol), 0, shares});
  }
  return *known;
}

void Judge::unmodelled(const Item& item) {
  const auto& w = item.record->as<Kind::Unmodelled>();
  std::string_view symbol = trace::payload_text(item.payload, 0, w.name_bytes);
  unmodelled_function(symbol).calls = w.calls;
  const api::Row* row = api::find_row(symbol);
  if (row && row->effect.hides_order) note_hidden_order(symbol);
}

void Judge::foreign_call(const Item& item) {
  places_.add_foreign(item.record->api, item.foreign);
  if (makes_calls(item.record->kind) && item.record->kind != Kind::CallEnd) ++unmodelled_function(item.foreign).calls;
}

std::vector<std::string> Judge::counted_functions(bool that_share) const {
  std::vector<std::string> out;
  for (const Unmodelled& each : unmodelled_) {
    if (each.shares == that_share) out.push_back(each.symbol + " (" + report::counted(each.calls, "call") + ")");
  }
  return out;
}

ordering::Call Judge::call(const Record& record, std::uint32_t kernel) {
  return {ThreadId{record.thread}, places_.site(record.api, kernel, record.stack)};
}

StreamId Judge::stream_of(const Record& record) {
  return handles_.stream(record.in_stream().stream, record.in_stream().context, ThreadId{record.thread});
}

/// The record just given to the model is a blocking call: its host edge waits for CallEnd.
void Judge::blocks(const Item& item) {
  if (item.record->thread == kOverflowThread) {
    model_.returned(ThreadId{kOverflowThread}, true);
  } else {
    pending_[item.record->thread] = item.position + 1;
  }
}

void Judge::finish_pending(ThreadId thread) {
  std::uint64_t* pending = pending_.find(static_cast<std::uint64_t>(thread));
  if (!pending || *pending == 0) return;
  *pending = 0;
  model_.returned(thread, true);
  host_has_waited(thread, true);
}

void Judge::call_end(const Item& item) {
  std::uint64_t* pending = pending_.find(item.record->thread);
  if (!pending || *pending != item.record->as<Kind::CallEnd>().position + 1) return;
  *pending = 0;
  model_.returned(ThreadId{item.record->thread}, !item.cancelled);
  host_has_waited(ThreadId{item.record->thread}, !item.cancelled);
}

bool Judge::may_wait(const Record& launch, std::uint32_t kernel) {
  return (launch.flags & trace::kWaits) != 0 && code_.can_wait(kernel, places_.kernel(kernel));
}

const LaunchBytes& Judge::bytes_of(const Item& launch, bool dependent) {
  const auto& w = launch.record->as<Kind::Launch>();
  const std::uint32_t index = places_.kernel_index(w.function);
  const auto [touched, promised] = footprints_.of_launch(launch);
  LaunchBytes& out = unpromised_bytes_of(launch, index, touched, dependent);
  if (promised) add_promise(*promised, launch.payload.first(w.pointers), out);
  out.through_textures = out.unknown_textures = false;
  if (!code_.uses_textures(index, places_.kernel(index))) return out;
  textures_.add_to(out, code_, {index, places_.kernel(index), w.hash, context_of_launch(*launch.record)});
  if (out.through_textures && may_wait(*launch.record, index))
    for (ordering::PointerArgument& pointer : out.pointers) pointer.mode = ordering::AccessMode::Doubtful;
  return out;
}

LaunchBytes& Judge::unpromised_bytes_of(const Item& launch, std::uint32_t index, const KernelFootprint* touched,
                                        bool dependent) {
  const Record& record = *launch.record;
  const auto& w = record.as<Kind::Launch>();
  const Kernel& kernel = places_.kernel(index);
  const std::span<const std::uint64_t> words = launch.payload.first(w.pointers);
  LaunchBytes& out = launch_bytes_;
  out.known = Known::Inferred;
  out.exact.bytes.clear();
  out.exact.complete = false;
  out.confined = false;
  out.pointers.clear();
  if (touched) {
    const bool measured = (record.flags & trace::kMeasured) != 0;
    out.known = measured ? Known::Measured : Known::Learned;
    resolve(*touched, words, measured, out.exact);
    code_.find_signals(index, kernel, w.hash, model_, out.exact.bytes);
  }
  if (code_.enabled() && out.known == Known::Learned && out.exact.complete && !may_wait(record, index)) {
    // What an earlier launch touched makes a conflict possible, what the code proves of this one makes it sure.
    read_pointers(kernel.roles, words, out.pointers);
    proved_.clear();
    const Code::Conclusion proved = code_.conclude(index, kernel, w.hash, words, out.pointers, proved_, dependent);
    out.pointers.clear();
    if (proved.complete) {
      out.exact.bytes.swap(proved_);
      out.known = Known::Computed;
      return out;
    }
  }
  if (dependent && out.known != Known::Inferred) code_.add_early(index, kernel, w.hash, out.exact.bytes);
  if (out.exact.complete) return out;
  read_pointers(kernel.roles, words, out.pointers);
  // Nothing is proved of it either.
  if (may_wait(record, index)) {
    for (ordering::PointerArgument& pointer : out.pointers) pointer.mode = ordering::AccessMode::Doubtful;
  } else if (out.known == Known::Inferred) {
    const Code::Conclusion concluded =
        code_.conclude(index, kernel, w.hash, words, out.pointers, out.exact.bytes, dependent);
    out.exact.complete = concluded.complete;
    out.confined = concluded.confined;
    if (out.exact.complete || !out.exact.bytes.empty()) out.known = Known::Computed;
  }
  return out;
}

ordering::Dependence Judge::dependence(const Record& record, StreamId stream, std::uint32_t kernel) {
  if (!code_.enabled()) return {};
  const std::uint64_t hash = record.as<Kind::Launch>().hash;
  LaunchedKernel& last = last_kernels_[static_cast<std::uint64_t>(stream)];
  const LaunchedKernel front = std::exchange(last, {kernel, hash});
  if (!(record.flags & trace::kProgrammatic) || front.index == 0 || may_wait(record, kernel)) return {};
  return depends(front, {kernel, hash});
}

ordering::LaunchShape Judge::shape_of(const Record& launch, std::uint32_t kernel, const LaunchBytes& bytes) {
  const auto& w = launch.as<Kind::Launch>();
  const auto atomic = [](const auto& each) { return each.mode == ordering::AccessMode::Atomic; };
  const bool updates = std::ranges::any_of(bytes.exact.bytes, atomic) || std::ranges::any_of(bytes.pointers, atomic);
  const Kernel& code = places_.kernel(kernel);
  const bool signalled = code_.waits_for_others(kernel, code);
  const Code::Besides besides = compares_ ? code_.besides(kernel, code) : Code::Besides{};
  return {.function = ordering::FunctionId{kernel},
          .threads = w.threads,
          .arguments_hash = w.hash,
          .confined = (bytes.exact.complete || bytes.confined) && !besides.uses_constants && !bytes.unknown_textures &&
                      !signalled,
          .prints = besides.prints,
          .atomic_for_host = updates && code_.is_atomic_for_host(kernel, code, w.hash, model_),
          .signalled = signalled,
          .learned = bytes.known == Known::Learned};
}

void Judge::launch(const Item& item) {
  const Record& record = *item.record;
  StreamId stream = stream_of(record);
  if (!handles_.executes(stream)) return;
  const std::uint32_t index = places_.kernel_index(record.as<Kind::Launch>().function);
  ordering::Call call = this->call(record, index);
  measured_launches_.launched(index);
  const LaunchBytes& bytes = bytes_of(item);
  ordering::LaunchShape shape = shape_of(record, index, bytes);
  if (bytes.known == Known::Measured) {
    asking_.measured(places_.kernel(index).trace_id, call.site);
    // A conflict of one that waits for others stays possible, wherever its bytes are.
    if (bytes.exact.complete && !bytes.through_textures && !shape.signalled) hazards_.measured(call.site);
  }
  shape.dependence = dependence(record, stream, index);
  event_misuse_.work(stream);
  model_.launch(call, stream, shape, bytes.pointers, bytes.exact.bytes);
}

void Judge::copy(const Item& item) {
  const Record& record = *item.record;
  StreamId stream = stream_of(record);
  if (!handles_.executes(stream)) return;
  const auto [dst, src] = sides_of_copy(item);
  event_misuse_.work(stream);
  value_waits_.overwritten(dst);
  model_.copy(call(record), stream, dst, src, form_of(record));
  form_of(record) == Form::Synchronous ? blocks(item) : model_.returned(ThreadId{record.thread}, true);
}

void Judge::fill(const Item& item) {
  const Record& record = *item.record;
  StreamId stream = stream_of(record);
  if (!handles_.executes(stream)) return;
  event_misuse_.work(stream);
  const ordering::Footprint bytes = bytes_of_fill(record);
  value_waits_.overwritten(bytes);
  model_.fill(call(record), stream, bytes, form_of(record));
  form_of(record) == Form::Synchronous ? blocks(item) : model_.returned(ThreadId{record.thread}, true);
}

void Judge::stream_operation(const Item& item) {
  const Record& record = *item.record;
  host_code_in_streams_ |= record.kind == Kind::HostFunction;
  const StreamId stream = stream_of(record);
  if (!handles_.executes(stream)) return;
  event_misuse_.work(stream);
  const ordering::Call call = this->call(record);
  if (record.kind == Kind::HostFunction) {
    model_.host_function(call, stream);
  } else if (record.kind == Kind::StreamAction) {
    stream_action(item, call, stream);
  } else if (record.kind == Kind::StreamJoinsAll) {
    wait_for_value(record, call, stream);
  } else {
    launch_graph(record, stream);
  }
}

void Judge::look_for_wait(const Item& item) {
  const Record& record = *item.record;
  if (!hidden_syncs_.forbidden(record.thread)) return;
  const std::optional<WaitingCall> waiting = waiting_call(item, places_, model_);
  if (!waiting) return;
  const StreamLife* stream = nullptr;
  if (waiting->of_stream) {
    const StreamId id = stream_of(record);
    // A copy that is captured waits for nothing.
    if (!handles_.executes(id)) return;
    stream = handles_.life(id);
  }
  hidden_syncs_.met(waiting->wait, record.thread, call(record).site, stream, places_, hazards_.marks(),
                    item.position + 1);
}

void Judge::consume(const Item& item) {
  const auto first = ordering::OpId{observers_.empty() ? 0 : model_.statistics().operations + 1};
  take(item);
  if (releases_.any()) settle_releases(*item.record);
  if (observers_.empty()) return;
  const auto last = ordering::OpId{model_.statistics().operations};
  for (Observer* observer : observers_) observer->observe(item, first, last);
}

void Judge::take(const Item& item) {
  const Record& record = *item.record;
  ThreadId thread{record.thread};
  model_.at(item.position + 1);
  if (!item.foreign.empty()) foreign_call(item);
  if (record.kind == Kind::CallEnd) return call_end(item);
  if (record.kind == Kind::GpuTime) return;  // of no thread
  // Definitions may be written in the middle of a blocking call; any other call of the thread means that it is over.
  if (record.kind == Kind::HostAccess) {
    const bool unseen = record.as<Kind::HostAccess>().way == trace::AccessWay::Content;
    if (unseen || !inside_blocking_call(record)) host_access(item);
    return;
  }
  if (!trace::is_definition(record.kind) && !is_remark(record.kind)) finish_pending(thread);
  if (record.thread != last_caller_ && makes_calls(record.kind)) {
    last_caller_ = record.thread;
    callers_[record.thread] = true;
  }
  if (hidden_syncs_.any()) look_for_wait(item);
  switch (record.kind) {
    case Kind::Module:
      places_.add_module(item);
      return code_.add_module(places_.newest_module());
    case Kind::Stack:
      return places_.add_stack(item);
    case Kind::PythonFrame:
      return places_.add_python_frame(item);
    case Kind::HostThread:
      return places_.add_host_thread(item);
    case Kind::Context:
      return handles_.place_context(record.as<Kind::Context>().context, record.as<Kind::Context>().device, thread);
    case Kind::Function:
      return places_.add_kernel(item);
    case Kind::Unmodelled:
      return unmodelled(item);
    case Kind::Footprint:
      return footprints_.add(item);
    case Kind::MeasuredLaunch:
      return measured_launches_.add(record, places_.kernel_index(record.as<Kind::MeasuredLaunch>().function),
                                    footprints_);
    case Kind::Arguments:
      return code_.add_arguments(item);
    case Kind::ArraySizes:
      return places_.add_array(record);
    case Kind::Texture:
      return textures_.made(record, context_of(record.as<Kind::Texture>().context, record.thread));
    case Kind::GraphNode:
      return graph_node(item);
    case Kind::GraphEdges:
      return graphs_.add_edges(item);
    case Kind::Message:
      messages_.emplace_back(trace::payload_text(item.payload, 0, record.as<Kind::Message>().text_bytes));
      return;

    case Kind::Launch:
      return launch(item);
    case Kind::Copy:
      return copy(item);
    case Kind::Fill:
      return fill(item);
    case Kind::Alloc:
      return allocate(record);
    case Kind::Free:
      return free(item);
    case Kind::EventWait:
      return wait_event(record);
    case Kind::SyncEvent:
      return sync_event(item);

    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::StreamJoinsAll:
    case Kind::GraphLaunch:
      return stream_operation(item);
    case Kind::GraphInstantiate:
    case Kind::GraphUpdate:
      return graph_made(record);

    case Kind::StreamCreate:
      return handles_.create_stream(
          record.as<Kind::StreamCreate>().handle, record.as<Kind::StreamCreate>().non_blocking == 1,
          record.as<Kind::StreamCreate>().context, record.as<Kind::StreamCreate>().id, thread, call(record).site);
    case Kind::StreamDestroy:
      return handles_.destroy_stream(record.as<Kind::StreamDestroy>().handle);
    case Kind::NameStream:
      return handles_.name_stream(
          record.as<Kind::NameStream>().handle,
          std::string(trace::payload_text(item.payload, 0, record.as<Kind::NameStream>().name_bytes)));
    case Kind::EventCreate: {
      const auto made = record.as<Kind::EventCreate>();
      return handles_.create_event(
          made.handle, (made.creation_flags & kEventInterprocess) != 0 || row_of(record).effect.imported,
          (made.creation_flags & kEventDisableTiming) != 0 ? ordering::EventTiming::Off : ordering::EventTiming::On,
          call(record).site);
    }
    case Kind::EventDestroy:
      if (std::optional<ordering::EventId> event = handles_.known_event(record.as<Kind::EventDestroy>().handle))
        event_misuse_.destroyed(*event);
      return handles_.destroy_event(record.as<Kind::EventDestroy>().handle);

    case Kind::EventRecord:
      return record_event(record);
    case Kind::ContextEvent:
      return context_event(record);
    case Kind::SyncStream:
      model_.sync_stream(call(record), stream_of(record));
      host_waits_for({stream_of(record)}, thread);
      return blocks(item);
    case Kind::SyncContext:
      return sync_context(item);
    case Kind::QueryStream:
      model_.query_stream_succeeded(call(record), stream_of(record));
      return value_waits_.complete(stream_of(record), model_.statistics().operations);
    case Kind::QueryEvent:
      return query_event(record);
    case Kind::CaptureBegin:
      return handles_.begin_capture(stream_of(record));
    case Kind::CaptureEnd:
      return handles_.end_capture(stream_of(record));
    case Kind::ContextDestroy:
      // Releasing a primary context need not end it; its streams and events are kept.
      if (row_of(record).effect.ends == api::ContextEnd::Given) {
        handles_.destroy_context(record.as<Kind::ContextDestroy>().context);
      }
      return;

    case Kind::HostFree:
      return host_free(item);
    case Kind::BlockAlloc:
      return block_allocate(record);
    case Kind::BlockFree:
      return block_free(record);
    case Kind::BlockUse:
      if (StreamId stream =
              handles_.stream(record.as<Kind::BlockUse>().stream, record.as<Kind::BlockUse>().context, thread);
          handles_.executes(stream)) {
        model_.block_use(pool_call(record), stream, record.as<Kind::BlockUse>().address);
      }
      return;
    case Kind::Signal:
      return signal(record);
    case Kind::Await:
      return await(record);
    case Kind::SyncMemory:
      return model_.sync_memory(record.as<Kind::SyncMemory>().address, record.as<Kind::SyncMemory>().on == 1);
    case Kind::NameMemory:
      return name_memory(item);
    case Kind::CallFailed:
      return call_failed(record);
    case Kind::ThreadOrder:
      return thread_order(item);
    case Kind::NodeMade:
      return graphs_.made(record);
    case Kind::Mark:
      return mark(item);
    case Kind::HostWaits:
      return host_waits(item);
    case Kind::Pad:
    case Kind::CallEnd:
    case Kind::HostAccess:
    case Kind::Unload:
    case Kind::Init:
    case Kind::ClockRead:
    case Kind::EventTime:
    case Kind::HostIdle:
    case Kind::GpuTime:
    case Kind::Ask:
      return;
  }
}

}  // namespace streamsan::judge
