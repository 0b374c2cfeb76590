// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effects of enqueued work, and which work the host has waited for when the call returns.
//
// The kinds of memory decide what a copy waits for (ordering/copies.h). If a kind is not known, all possible kinds are
// tried: a wait that all of them promise goes into `must`, a wait that one of them promises goes into `may`. If a kind
// only waits by an assumed rule, the access keeps that rule (Pending::leans).
//
// order_dependents.cpp explains what programmatic launches overtake: full_edge() and overtake().
#include "analyzer/analysis/order_step.h"

#include <algorithm>

namespace streamsan::analyzer {

using ir::Certainty;
using ordering::HostEffect;
using ordering::MemoryKind;
using ordering::Rule;

namespace {

std::vector<MemoryKind> kinds(Values& values, const Store& store, const Order& order, const ir::Access& access) {
  if (const auto known = order.kind(values, access, store.evaluate(values, access.memory))) return {*known};
  if (access.on_host.value_or(false)) return {MemoryKind::Pageable, MemoryKind::Pinned};
  return {MemoryKind::Device, MemoryKind::Pageable, MemoryKind::Pinned};
}

}  // namespace

bool copies_or_fills(const ir::Op& op) { return op.work == ir::Work::Copy || op.work == ir::Work::Fill; }

bool is_message(const Values& values, const Pending& pending) {
  return pending.op != kNoOp && pending.access < kReturned && values.op(pending.op).kind == ir::OpKind::Post;
}

std::optional<Pending> touch(Values& values, const Store& store, OpIndex index, std::uint16_t number) {
  const ir::Op& op = values.op(index);
  const ir::Access& access = op.accesses[number];
  const Span span = span_of(values, store.evaluate(values, access.memory));
  if (span.memory == kNull || !values.precise(span.memory)) return std::nullopt;
  Pending result{.op = index, .access = number, .memory = span.memory, .offset = span.offset};
  result.bytes = store.key(values, access.bytes);
  result.mode = access.mode;
  if (op.work == ir::Work::Kernel) result.arguments = store.key(values, op.arguments);
  if (access.part.kind == ir::Part::Kind::From) {
    std::vector<ir::Operand> from;
    for (std::size_t i = 0; i < op.arguments.size() && i < 32; ++i)
      if ((access.part.arguments >> i & 1U) != 0) from.push_back(op.arguments[i]);
    result.from = store.key(values, from);
  }
  return result;
}

std::vector<ordering::CopyRule> copy_rules(Values& values, const Store& store, const Order& order, OpIndex index) {
  const ir::Op& op = values.op(index);
  const ordering::Form form =
      op.form == ir::Form::Synchronous ? ordering::Form::Synchronous : ordering::Form::Asynchronous;
  std::vector<MemoryKind> destinations, sources;
  for (const ir::Access& access : op.accesses) {
    std::vector<MemoryKind>& side = access.mode == ir::Mode::Read ? sources : destinations;
    for (MemoryKind kind : kinds(values, store, order, access)) side.push_back(kind);
  }
  std::vector<ordering::CopyRule> result;
  for (MemoryKind destination : destinations) {
    if (op.work == ir::Work::Fill) result.push_back(ordering::fill_rule(destination, form));
    for (MemoryKind source : sources) result.push_back(ordering::copy_rule(destination, source, form));
  }
  return result;
}

Pending OrderStep::fresh(std::uint16_t access, ValueId pointer, ValueId stream) {
  const Span span = span_of(values_, pointer);
  const SetId tokens = sets_.one(stream_token(stream));
  return {.op = index_,
          .access = access,
          .memory = span.memory,
          .offset = span.offset,
          .stream = stream,
          .must = tokens,
          .may = tokens};
}

void OrderStep::enqueue() {
  if (order_.is_done_by_host(values_, store_, index_)) return;
  const ValueId stream = this->stream();
  if (order_.holds_back(op_)) return hold_back(stream);
  disturb(stream);
  if (order_.capturing_ != Tri::No) return capture_work(stream);
  // Memory of a graph's allocation nodes has one address for all launches: if it was freed after one launch, the next
  // launch allocates it again.
  if (op_.work == ir::Work::GraphLaunch)
    std::erase_if(order_.pending_, [](const Pending& p) { return p.access == kRelease; });
  if (op_.programmatic == ir::Certainty::No) {
    full_edge(stream);
  } else {
    overtake(stream);
  }
  if (stream == kUnknown) {
    order_.strangers_ = true;
    return;
  }
  barrier(stream);
  // R-HST-06: it may notify a host thread that the work before it is done.
  if (op_.work == ir::Work::HostFunction) perhaps_host([&](const Pending& p) { return perhaps(p, stream); });
  if (op_.form == ir::Form::Synchronous) {
    host_waits_for_earlier(stream);
  } else if (copies_or_fills(op_)) {
    copy_waits(stream);
  }
  if (!complete_at_return()) {
    disturb(stream);
    order_.busy_[stream] = index_;
  }
  if (values_.marks_work()) {
    Pending mark = fresh(kWork, values_.object(index_), stream);
    if (op_.form == ir::Form::Synchronous && !copies_or_fills(op_)) surely_host(mark);
    insert(mark);
  }
  for (std::uint16_t i = 0; i < op_.accesses.size(); ++i) {
    std::optional<Pending> added = touch(values_, store_, index_, i);
    if (!added) continue;
    added->stream = stream;
    added->must = added->may = sets_.one(stream_token(stream));
    if (values_.launches_programmatically()) {
      // R-LCH-02f: behind anything but a kernel a programmatic launch is an ordinary one.
      added->must = sets_.add(added->must, waited_token(stream));
      if (op_.work != ir::Work::Kernel) added->must = sets_.add(added->must, start_token(stream));
      added->may = added->must;
    }
    // The value may be written behind this work. And this work may wait for a value that is written behind any other
    // work, or behind what the host does.
    for (const ValueId held : order_.held_by_value_) {
      added->may = sets_.add(added->may, stream_token(held == stream ? kUnknown : held));
      if (held == stream) added->may = sets_.add(added->may, kHost);
    }
    host_side(*added, op_.accesses[i]);
    insert(*added);
  }
}

void OrderStep::post() {
  const ValueId lane = store_.stream(values_, op_.stream);
  for (std::uint16_t i = 0; i < op_.accesses.size(); ++i) {
    std::optional<Pending> added = touch(values_, store_, index_, i);
    if (!added) continue;
    added->stream = lane;
    added->must = added->may = sets_.one(stream_token(lane));
    insert(*added);
  }
}

void OrderStep::complete() {
  const ValueId lane = store_.stream(values_, op_.stream);
  const auto made_by_post = [this](ValueId of) {
    return values_.precise(of) && values_[of].kind == Value::Kind::Version;
  };
  // Each post is ordered like a stream of its own.
  const auto another = [&](ValueId one) { return one != lane && made_by_post(one) && made_by_post(lane); };
  for (Pending& p : order_.pending_)
    if (is_message(values_, p) && !another(p.stream)) surely_host(p);
}

void OrderStep::capture_work(ValueId stream) {
  if (order_.capturing_ != Tri::All) return;
  const auto known = order_.captured_.find(stream);
  if (known == order_.captured_.end() || !values_.precise(stream)) return;
  if (values_.op(known->second).kind != ir::OpKind::CaptureBegin) order_.unjoined_[stream] = index_;
  for (std::uint16_t i = 0; i < op_.accesses.size(); ++i)
    if (const std::optional<Pending> touched = touch(values_, store_, index_, i))
      order_.captured_memory_.try_emplace(touched->memory, CapturedUse{.op = index_}).first->second.given_back = kNoOp;
}

bool OrderStep::complete_at_return() {
  if (op_.form != ir::Form::Synchronous) return false;
  if (!copies_or_fills(op_)) return true;
  const std::vector<ordering::CopyRule> rules = copy_rules(values_, store_, order_, index_);
  return std::ranges::all_of(rules, [](const auto& rule) { return rule.documented == HostEffect::Complete; });
}

void OrderStep::host_waits_for_earlier(ValueId stream) {
  if (!copies_or_fills(op_)) return sync_stream(stream);
  bool all = true, some = false;
  for (const ordering::CopyRule& rule : copy_rules(values_, store_, order_, index_)) {
    all = all && rule.documented != HostEffect::None;
    some = some || rule.assumed != HostEffect::None;
  }
  if (all && some) {
    sync_stream(stream);
  } else if (some) {
    perhaps_host([&](const Pending& p) { return perhaps(p, stream); });
  }
}

void OrderStep::copy_waits(ValueId stream) {
  const std::vector<ordering::CopyRule> rules = copy_rules(values_, store_, order_, index_);
  const bool all = std::ranges::all_of(rules, [](const auto& r) { return r.documented == HostEffect::Complete; });
  if (all && !rules.empty()) return sync_stream(stream);  // R-CPY-17
  for (const ordering::CopyRule& rule : rules) {
    if (!rule.leans() || rule.assumed == HostEffect::None) continue;
    for (Pending& p : order_.pending_)
      if (!over(p) && !p.leans && perhaps(p, stream)) p.leans = rule.assumed_rule;
  }
}

void OrderStep::host_side(Pending& p, const ir::Access& access) {
  if (!copies_or_fills(op_)) {
    if (op_.form == ir::Form::Synchronous) surely_host(p);
    return;
  }
  const auto kind = order_.kind(values_, access, p.memory);
  const bool pageable = kind == MemoryKind::Pageable;
  // Such a copy borrows nothing: the host itself writes what is pageable.
  if (pageable && access.mode == ir::Mode::Write && op_.form == ir::Form::Synchronous && op_.work == ir::Work::Copy)
    return surely_host(p);
  const bool perhaps_pageable = !kind && access.on_host.value_or(true);
  if (access.mode == ir::Mode::Read && (pageable || perhaps_pageable)) {
    // R-CPY-01: staged before a synchronous copy returns. R-CPY-13: an asynchronous one may stage it, or may not.
    if (op_.form == ir::Form::Asynchronous) {
      p.leans = Rule::CPY_13;
    } else if (pageable || access.on_host) {
      return surely_host(p);
    } else {
      p.may = sets_.add(p.may, kHost);
    }
  }
  bool all = true, some = false;
  const std::vector<ordering::CopyRule> rules = copy_rules(values_, store_, order_, index_);
  for (const ordering::CopyRule& rule : rules) {
    all = all && rule.documented == HostEffect::Complete;
    some = some || rule.documented == HostEffect::Complete;
    if (rule.assumed == HostEffect::Complete && rule.leans() && !p.leans) p.leans = rule.assumed_rule;
  }
  if (all && !rules.empty()) return surely_host(p);
  // The copy may be between host buffers or with the device. Only a synchronous call is assumed to be the former.
  if (some && op_.form == ir::Form::Synchronous) p.may = sets_.add(p.may, kHost);
}

bool OrderStep::records_without_timing() {
  const Value& event = values_[store_.evaluate(values_, op_.event)];
  const auto without = [this](OpIndex maker) {
    return values_.op(maker).kind == ir::OpKind::CreateEvent && values_.op(maker).timing == false;
  };
  if (event.kind == Value::Kind::Object) return without(event.site);
  return event.makers != kNoMakers && std::ranges::all_of(values_[event.makers], without);
}

void OrderStep::full_edge(ValueId stream, Behind behind) {
  if (!values_.launches_programmatically() || order_.capturing_ != Tri::No) return;
  const auto both = [this](SetId set, ValueId of) {
    return sets_.add(sets_.add(set, start_token(of)), waited_token(of));
  };
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    // R-LCH-02g: for this record, no work of its own stream counts as ended.
    if (behind == Behind::Record && stream != kUnknown && values_.must_equal(p.stream, stream)) continue;
    if (stream == kUnknown) {
      p.may = both(p.may, p.stream);
      continue;
    }
    if (surely(p, stream)) p.must = both(p.must, stream);
    if (perhaps(p, stream)) p.may = both(p.may, stream);
  }
}

void OrderStep::overtake(ValueId stream) {
  if (order_.capturing_ != Tri::No || stream == kUnknown) return full_edge(stream);
  using Part = Order::Dependent;
  for (Pending& p : order_.pending_) {
    if (over(p) || !perhaps(p, stream)) continue;
    const auto surely_is = [&](Part part) { return Order::surely_before(values_, sets_, p.must, stream, part); };
    const auto perhaps_is = [&](Part part) { return Order::perhaps_before(values_, sets_, p.may, stream, part); };
    const bool started = surely_is(Part::Start), perhaps_started = perhaps_is(Part::Start);
    const bool waited = surely_is(Part::Waited), perhaps_waited = perhaps_is(Part::Waited);
    const auto is_wait = [&](std::uint32_t token) {
      return is_token_of(token, Part::Waited) && values_.may_equal(value_of(token), stream);
    };
    if (op_.waits == Certainty::Yes) {
      if (waited && surely(p, stream) && op_.triggers_first == Certainty::No)
        p.must = sets_.add(p.must, start_token(stream));
    } else if (!started) {
      p.must = sets_.without(p.must, is_wait);
    }
    if (op_.waits == Certainty::No && op_.programmatic == Certainty::Yes) {
      if (!perhaps_started && values_.must_equal(p.stream, stream)) p.may = sets_.without(p.may, is_wait);
    } else if (op_.programmatic == Certainty::Perhaps || (perhaps_waited && op_.triggers_first != Certainty::Yes)) {
      p.may = sets_.add(sets_.add(p.may, start_token(stream)), waited_token(stream));
    }
  }
}

}  // namespace streamsan::analyzer
