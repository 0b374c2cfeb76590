// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a model describes by an effect: the words of the table of driver functions, put into ops.
//
// Positions are those of the model, in the function as it is called. A stream that was not written is the default
// stream, and where the function has a place for one the op says so. A handle that is the literal 0 is the default
// stream too. A kind of copy that is no constant leaves both sides unknown.
#include "analyzer/lowering/host_effects.h"

#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_launches.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using api::EffectKind;
using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::StreamKind;

namespace {

// cudaMemcpyKind
constexpr std::int64_t kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3;
// Bits of flags, the same in all spellings.
constexpr std::int64_t kCaptureRelaxed = 2;
constexpr std::int64_t kStreamNonBlocking = 1, kEventDisableTiming = 2;

const char* direction(std::int64_t copy_kind) {
  switch (copy_kind) {
    case kHostToHost:
      return " (host to host)";
    case kHostToDevice:
      return " (host to device)";
    case kDeviceToHost:
      return " (device to host)";
    case kDeviceToDevice:
      return " (device to device)";
    default:
      return "";
  }
}

}  // namespace

Effects::Effects(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      arguments_(parts.arguments),
      launches_(parts.launches) {}

void Effects::set_sides(const Call& call, ir::Op& op) {
  const api::Effect& effect = call.model->effect;
  std::optional<std::int64_t> copy_kind;
  if (call.model->kind_argument >= 0) {
    copy_kind = constant(call.argument(call.model->kind_argument), unit_.context);
  } else if (effect.direction == api::Direction::HostToDevice) {
    copy_kind = kHostToDevice;
  } else if (effect.direction == api::Direction::DeviceToHost) {
    copy_kind = kDeviceToHost;
  } else if (effect.direction == api::Direction::DeviceToDevice) {
    copy_kind = kDeviceToDevice;
  }
  if (!copy_kind) return;
  ir::Site& site = out_.site_of(call.site);
  site.text = call.model->name + direction(*copy_kind);
  if (*copy_kind < kHostToHost || *copy_kind > kDeviceToDevice) return;
  for (ir::Access& access : op.accesses) {
    const bool source = access.mode == ir::Mode::Read;
    access.on_host = source ? *copy_kind == kHostToHost || *copy_kind == kHostToDevice
                            : *copy_kind == kHostToHost || *copy_kind == kDeviceToHost;
  }
}

void Effects::apply_enqueue(const Call& call, ir::Work work) {
  const api::Effect& effect = call.model->effect;
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = work;
  op.form = effect.form == api::CallForm::Synchronous ? ir::Form::Synchronous : ir::Form::Asynchronous;
  op.stream = arguments_.stream_of(call, &op);
  arguments_.add_roles(call, op, 0);
  if (work == ir::Work::Copy) {
    set_sides(call, op);
    if (effect.kind != EffectKind::Copy && call.model->roles.empty() && effect.direction != api::Direction::Array)
      op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
    if (call.model->symbol_argument >= 0 && op.accesses.size() == 2) {
      ir::Access& symbol = op.accesses[call.model->symbol_argument == effect.dst ? 0 : 1];
      if (const clang::Expr* offset = call.argument(call.model->offset_argument))
        symbol.memory = numbers_.moved(symbol.memory, numbers_.stepped(values_.expr(offset), unit_.context.CharTy));
      symbol.on_host = false;
    }
  } else if (work == ir::Work::HostFunction) {
    // The data that the function is given: it reads it when it runs.
    for (std::size_t i = 2; i < call.arguments.size(); ++i)
      if (out_.kind(call.arguments[i]->getType()) == TypeKind::Pointer) {
        op.accesses.push_back({.memory = values_.memory(call.arguments[i]), .mode = ir::Mode::Read, .on_host = true});
        break;
      }
  } else if (work == ir::Work::GraphLaunch) {
    op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
    if (!call.arguments.empty()) op.arguments.push_back(values_.operand(call.arguments.front()));  // which graph
  }
  out_.emit(std::move(op));
}

void Effects::make_handle(const Call& call, OpKind kind) {
  const Model& model = *call.model;
  ir::Op op = start(kind, call);
  op.target = arguments_.target_at(call, model.effect.object);
  const clang::Expr* written = call.argument(model.effect.flags);
  const std::optional<std::int64_t> flags = written == nullptr ? std::nullopt : constant(written, unit_.context);
  if (kind == OpKind::CreateStream) {
    op.stream_kind = model.stream_kind;
    op.pooled = model.pooled;
    if (flags) op.stream_kind = (*flags & kStreamNonBlocking) != 0 ? StreamKind::NonBlocking : StreamKind::Blocking;
  } else {
    op.timing = model.timing;
    if (flags) op.timing = (*flags & kEventDisableTiming) == 0;
  }
  if (op.target != ir::kNoPlace) out_.emit(std::move(op));
}

void Effects::apply_allocation(const Call& call) {
  const Model& model = *call.model;
  ir::Op op = start(OpKind::Allocate, call);
  op.memory = model.memory;
  op.tensor = model.caching;
  if (model.effect.kind == EffectKind::AllocAsync) op.stream = arguments_.stream_of(call, &op);
  if (model.effect.kind == EffectKind::Register) {
    op.source = values_.memory(call.argument(model.effect.object));
  } else {
    op.target = arguments_.target_at(call, model.effect.object);
    if (op.target == ir::kNoPlace) return;
    if (out_.kind(op.target) != TypeKind::Pointer) return out_.emit_fresh(op.target, call.site);
  }
  out_.emit(std::move(op));
}

void Effects::apply_free(const Call& call) {
  const Model& model = *call.model;
  ir::Op op = start(OpKind::Free, call);
  op.memory = model.memory;
  op.tensor = model.caching;
  const clang::Expr* given = call.argument(model.effect.object);
  if (given == nullptr) return;
  op.source = values_.memory(given);
  if (model.effect.kind == EffectKind::FreeAsync) op.stream = arguments_.stream_of(call, &op);
  if (model.effect.kind == EffectKind::Unmap) {
    ir::Access range{.memory = op.source, .mode = ir::Mode::Write};
    if (const clang::Expr* bytes = call.argument(model.effect.bytes)) range.bytes = values_.expr(bytes);
    op.accesses.push_back(range);
  }
  if (op.source.kind != Operand::Kind::Null) out_.emit(std::move(op));
}

void Effects::apply_event(const Call& call) {
  const Model& model = *call.model;
  const api::Effect& effect = model.effect;
  const auto event = [&](int position) { return arguments_.operand_at(call, position); };
  ir::Op op = start(OpKind::Record, call);
  // As a node of a graph that is captured: it makes no stream part of the capture.
  if (const clang::Expr* flags = call.argument(effect.flags))
    if (constant(flags, unit_.context) != 0) op.detail = "perhaps external";
  switch (effect.kind) {
    case EffectKind::EventRecord:
      if (effect.event == kResult || call.expression->getStmtClass() == clang::Stmt::CXXConstructExprClass) {
        ir::Op made = start(OpKind::CreateEvent, call);
        made.target = arguments_.target_at(call, effect.event);
        if (made.target != ir::kNoPlace) out_.emit(std::move(made));
      }
      op.event = event(effect.event);
      op.stream = arguments_.stream_of(call, &op);
      break;
    case EffectKind::EventWait:
      op.kind = OpKind::Wait;
      op.event = event(effect.event);
      op.stream = arguments_.stream_of(call, &op);
      break;
    case EffectKind::SyncStream:
      op.kind = OpKind::SyncStream;
      op.stream = arguments_.stream_of(call, &op);
      break;
    case EffectKind::SyncEvent:
      op.kind = OpKind::SyncEvent;
      op.event = event(effect.event);
      break;
    case EffectKind::QueryStream:
      op.kind = OpKind::QueryStream;
      op.stream = arguments_.stream_of(call, &op);
      break;
    case EffectKind::QueryEvent:
      op.kind = OpKind::QueryEvent;
      op.event = event(effect.event);
      break;
    default:
      op.kind = OpKind::SyncDevice;
      break;
  }
  out_.emit(std::move(op));
}

void Effects::apply_capture(const Call& call) {
  const api::Effect& effect = call.model->effect;
  ir::Op op = start(effect.kind == EffectKind::CaptureBegin ? OpKind::CaptureBegin : OpKind::CaptureEnd, call);
  op.stream = arguments_.stream_of(call, &op);
  if (op.stream.kind == Operand::Kind::None) op.stream = arguments_.operand_at(call, effect.stream);
  // The mode follows the stream. A relaxed capture refuses nothing that the thread does outside of it.
  if (effect.kind == EffectKind::CaptureBegin) {
    const clang::Expr* written = call.argument(effect.stream + 1);
    if (written != nullptr && constant(written, unit_.context).value_or(kCaptureRelaxed) == kCaptureRelaxed)
      op.relaxed = true;
  }
  const bool makes_graph = effect.kind == EffectKind::CaptureEnd && effect.object >= 0;
  const ir::PlaceId graph = makes_graph ? arguments_.target_at(call, effect.object) : ir::kNoPlace;
  out_.emit(std::move(op));
  // Right behind it: so it is known which graph that is (ir/graph_launches.h).
  out_.emit_fresh(graph, call.site);
}

void Effects::instantiate(const Call& call) {
  const api::Effect& effect = call.model->effect;
  const ir::PlaceId target = arguments_.target_at(call, effect.object);
  const Operand graph = arguments_.operand_at(call, effect.src);
  if (target == ir::kNoPlace) return;
  if (graph.kind != Operand::Kind::Value) return out_.emit_fresh(target, call.site);
  out_.emit({.kind = OpKind::Fresh, .site = call.site, .target = target, .source = graph});
}

void Effects::update_graph(const Call& call) {
  ir::Op op = start(OpKind::Escape, call);
  op.source = arguments_.operand_at(call, call.model->effect.object);
  op.work = ir::Work::GraphLaunch;
  out_.emit(std::move(op));
}

void Effects::hand_over_events(const Call& call) {
  for (const clang::Expr* given : call.arguments)
    if (out_.kind(given->getType()) == TypeKind::Event)
      out_.emit({.kind = OpKind::Escape, .site = call.site, .source = values_.operand(given)});
}

void Effects::apply(const Call& call) {
  const Model& model = *call.model;
  const api::Effect& effect = model.effect;
  switch (effect.kind) {
    case EffectKind::Launch:
    case EffectKind::LaunchConfig:
      return launches_.apply(call);
    case EffectKind::Copy:
    case EffectKind::Copy2D:
    case EffectKind::Copy3D:
      return apply_enqueue(call, ir::Work::Copy);
    case EffectKind::Fill:
    case EffectKind::Fill2D:
      return apply_enqueue(call, ir::Work::Fill);
    case EffectKind::HostFunction:
      return apply_enqueue(call, ir::Work::HostFunction);
    case EffectKind::StreamAction:
      return apply_enqueue(call, ir::Work::Other);
    case EffectKind::GraphLaunch:
      return apply_enqueue(call, ir::Work::GraphLaunch);
    case EffectKind::Alloc:
    case EffectKind::AllocPitch:
    case EffectKind::AllocHost:
    case EffectKind::AllocManaged:
    case EffectKind::AllocAsync:
    case EffectKind::Register:
      return apply_allocation(call);
    case EffectKind::Free:
    case EffectKind::FreeHost:
    case EffectKind::FreeAsync:
    case EffectKind::Unregister:
    case EffectKind::Unmap:
      return apply_free(call);
    case EffectKind::StreamCreate:
      return make_handle(call, OpKind::CreateStream);
    case EffectKind::EventCreate:
      // An event of another process: recorded there. The detail tells it from other handles that are not known.
      if (effect.imported) {
        const ir::PlaceId target = arguments_.target_at(call, effect.object);
        if (target == ir::kNoPlace) return;
        out_.emit({.kind = OpKind::Fresh, .site = call.site, .target = target, .detail = "is opened"});
        return;
      }
      return make_handle(call, OpKind::CreateEvent);
    case EffectKind::StreamDestroy:
    case EffectKind::EventDestroy: {
      ir::Op op = start(OpKind::DestroyHandle, call);
      op.source = arguments_.operand_at(call, effect.object);
      op.of_object = effect.object == kObject;
      if (op.source.kind == Operand::Kind::Value) out_.emit(std::move(op));
      return;
    }
    case EffectKind::EventRecord:
    case EffectKind::EventWait:
    case EffectKind::SyncStream:
    case EffectKind::SyncEvent:
    case EffectKind::SyncContext:
    case EffectKind::QueryStream:
    case EffectKind::QueryEvent:
      return apply_event(call);
    case EffectKind::StreamJoinsAll: {
      ir::Op op = start(OpKind::Wait, call);
      op.stream = arguments_.stream_of(call, &op);
      op.event = unknown();
      op.for_value = true;
      out_.emit(std::move(op));
      return;
    }
    case EffectKind::CaptureBegin:
    case EffectKind::CaptureEnd:
      return apply_capture(call);
    case EffectKind::Import:
    case EffectKind::GlobalLookup:
      return out_.emit_fresh(arguments_.target_at(call, effect.object), call.site);
    case EffectKind::GraphInstantiate:
      return instantiate(call);
    case EffectKind::GraphUpdate:
    case EffectKind::GraphNodeUpdate:
      return update_graph(call);
    // Which streams these are about is not known.
    case EffectKind::ContextRecord:
    case EffectKind::ContextWait:
    case EffectKind::LaunchList:
    case EffectKind::ContextDestroy:
      out_.emit(start(OpKind::MaySync, call));
      return;
    case EffectKind::GraphAddNode:
    case EffectKind::GraphClone:
    case EffectKind::PointerAttribute:
    case EffectKind::Share:
    case EffectKind::Later:
      if (effect.exports_event || effect.hides_order) hand_over_events(call);
      if (effect.hides_order) out_.emit(start(OpKind::MaySync, call));
      return;
    case EffectKind::Pass:
      // A graph that is gone is not launched again.
      if (const clang::Expr* graph = effect.destroys_graph ? call.argument(0) : nullptr)
        if (const ir::PlaceId at = places_.place(graph); out_.kind(at) == ir::TypeKind::Graph)
          out_.emit_assign(at, {.kind = Operand::Kind::Null}, call.site);
      return;
    case EffectKind::ArrayCreate:
    case EffectKind::ArrayPart:
    case EffectKind::ArrayFree:
    case EffectKind::TextureCreate:
    case EffectKind::Lookup:
    case EffectKind::Map:
    case EffectKind::FunctionLookup:
    case EffectKind::Unload:
    case EffectKind::Init:
      return;
  }
}

}  // namespace streamsan::analyzer::host
