// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The builders of effects, which the rows of cuda_api.def are written with: one for each kind, or for each form that a
// kind has. Part of row.h, which explains the kinds and includes this.
#pragma once

#include "ordering/api/effect.h"

namespace streamsan::api {

constexpr Effect pass(std::string_view why) { return {.kind = EffectKind::Pass, .why = why}; }
constexpr Effect event_time(std::string_view why) {
  return {.kind = EffectKind::Pass, .asks_event_time = true, .why = why};
}
constexpr Effect context_switch(std::string_view why) {
  return {.kind = EffectKind::Pass, .switches_context = true, .why = why};
}
constexpr Effect capture_mode_swap(std::string_view why) {
  return {.kind = EffectKind::Pass, .swaps_capture_mode = true, .why = why};
}
constexpr Effect graph_end(std::string_view why) {
  return {.kind = EffectKind::Pass, .destroys_graph = true, .why = why};
}
constexpr Effect event_export(std::string_view why) {
  return {.kind = EffectKind::Share, .exports_event = true, .why = why};
}
constexpr Effect share(std::string_view why) { return {.kind = EffectKind::Share, .why = why}; }
constexpr Effect later(std::string_view why) { return {.kind = EffectKind::Later, .why = why}; }
/// Not modelled, and a program may rely on the order it makes.
constexpr Effect later_order(std::string_view why) {
  return {.kind = EffectKind::Later, .hides_order = true, .why = why};
}
constexpr Effect lookup() { return {.kind = EffectKind::Lookup}; }
constexpr Effect init() { return {.kind = EffectKind::Init}; }

/// An effect that is modelled, but not wholly: the remark stands in the coverage page.
constexpr Effect noted(std::string_view remark, Effect effect) {
  effect.why = remark;
  return effect;
}

constexpr Effect launch(Position function, Position extents, Position stream, Position params) {
  return {.kind = EffectKind::Launch, .object = function, .stream = stream, .params = params, .extents = extents};
}
constexpr Effect launch_config(Position config, Position function, Position params) {
  return {.kind = EffectKind::LaunchConfig, .object = function, .src = config, .params = params};
}

/// Older recorders did not see it.
constexpr Effect launch_list(Position list, Position count, Position flags) {
  return {.kind = EffectKind::LaunchList, .src = list, .flags = flags, .count = count, .hides_order = true};
}

/// Synchronous copies are recorded at Begin: they block, and their host edge is a second record at their return.
constexpr Effect copy(Position dst, Position src, Position bytes, Direction direction) {
  return {.kind = EffectKind::Copy,
          .dst = dst,
          .src = src,
          .bytes = bytes,
          .direction = direction,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect copy_async(Position dst, Position src, Position bytes, Position stream, Direction direction) {
  return {.kind = EffectKind::Copy, .dst = dst, .src = src, .bytes = bytes, .stream = stream, .direction = direction};
}
/// Of one side, or both, that is an array: its position, the offset in it follows. The other side is `dst` or `src`.
constexpr Effect to_array(Position array, Effect effect) {
  effect.dst_array = array;
  return effect;
}
constexpr Effect from_array(Position array, Effect effect) {
  effect.src_array = array;
  return effect;
}
constexpr Effect copy_2d(Position descriptor) {
  return {.kind = EffectKind::Copy2D, .src = descriptor, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect copy_2d_async(Position descriptor, Position stream) {
  return {.kind = EffectKind::Copy2D, .src = descriptor, .stream = stream};
}
constexpr Effect copy_3d(Position descriptor) {
  return {.kind = EffectKind::Copy3D, .src = descriptor, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect copy_3d_async(Position descriptor, Position stream) {
  return {.kind = EffectKind::Copy3D, .src = descriptor, .stream = stream};
}

constexpr Effect fill(Position dst, Position count, std::uint8_t unit) {
  return {.kind = EffectKind::Fill,
          .dst = dst,
          .bytes = count,
          .unit = unit,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect fill_async(Position dst, Position count, std::uint8_t unit, Position stream) {
  return {.kind = EffectKind::Fill, .dst = dst, .bytes = count, .stream = stream, .unit = unit};
}
/// cuMemsetD2D*(dst, pitch, value, width, height): width is counted in elements.
constexpr Effect fill_2d(Position dst, Position pitch, Position width, Position height, std::uint8_t unit) {
  return {.kind = EffectKind::Fill2D,
          .dst = dst,
          .bytes = width,
          .pitch = pitch,
          .height = height,
          .unit = unit,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect fill_2d_async(Position dst, Position pitch, Position width, Position height, std::uint8_t unit,
                               Position stream) {
  return {.kind = EffectKind::Fill2D,
          .dst = dst,
          .bytes = width,
          .pitch = pitch,
          .height = height,
          .stream = stream,
          .unit = unit};
}

constexpr Effect alloc(Position out, Position bytes) {
  return {.kind = EffectKind::Alloc, .object = out, .bytes = bytes};
}
constexpr Effect alloc_pitch(Position out, Position pitch_out, Position height) {
  return {.kind = EffectKind::AllocPitch, .object = out, .pitch = pitch_out, .height = height};
}
constexpr Effect alloc_host(Position out, Position bytes) {
  return {.kind = EffectKind::AllocHost, .object = out, .bytes = bytes};
}
constexpr Effect alloc_managed(Position out, Position bytes) {
  return {.kind = EffectKind::AllocManaged, .object = out, .bytes = bytes};
}
constexpr Effect alloc_async(Position out, Position bytes, Position stream) {
  return {.kind = EffectKind::AllocAsync, .object = out, .bytes = bytes, .stream = stream};
}
constexpr Effect alloc_from_pool(Position out, Position bytes, Position stream) {
  return {.kind = EffectKind::AllocAsync, .object = out, .bytes = bytes, .stream = stream, .given_pool = true};
}
constexpr Effect register_host(Position pointer, Position bytes) {
  return {.kind = EffectKind::Register, .object = pointer, .bytes = bytes};
}
constexpr Effect map(Position address, Position bytes) {
  return {.kind = EffectKind::Map, .object = address, .bytes = bytes};
}
constexpr Effect import_memory(Position out) { return {.kind = EffectKind::Import, .object = out}; }
constexpr Effect global_lookup(Position out, Position bytes_out) {
  return {.kind = EffectKind::GlobalLookup, .object = out, .bytes = bytes_out};
}

constexpr Effect managed_lookup(Position out, Position bytes_out) {
  return {.kind = EffectKind::GlobalLookup, .object = out, .bytes = bytes_out, .managed = true};
}

constexpr Effect free_device(Position pointer) {
  return {.kind = EffectKind::Free, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect free_host(Position pointer) {
  return {.kind = EffectKind::FreeHost, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect free_async(Position pointer, Position stream) {
  return {.kind = EffectKind::FreeAsync, .object = pointer, .stream = stream, .point = RecordPoint::Begin};
}
constexpr Effect unregister_host(Position pointer) {
  return {
      .kind = EffectKind::Unregister, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect unmap(Position address, Position bytes = kAbsent) {
  return {.kind = EffectKind::Unmap,
          .object = address,
          .bytes = bytes,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}

constexpr Effect array_create(Position out, Position descriptor, Position levels = kAbsent) {
  return {.kind = EffectKind::ArrayCreate, .object = out, .src = descriptor, .count = levels};
}
constexpr Effect array_part(Position out, Position whole, Position number) {
  return {.kind = EffectKind::ArrayPart, .object = out, .src = whole, .count = number};
}
constexpr Effect array_free(Position array) {
  return {.kind = EffectKind::ArrayFree, .object = array, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect texture_create(Position out, Position resource) {
  return {.kind = EffectKind::TextureCreate, .object = out, .src = resource};
}
constexpr Effect surface_create(Position out, Position resource) {
  return {.kind = EffectKind::TextureCreate, .object = out, .src = resource, .surface = true};
}

constexpr Effect stream_create(Position out, Position flags) {
  return {.kind = EffectKind::StreamCreate, .object = out, .flags = flags};
}
constexpr Effect stream_destroy(Position stream) {
  return {.kind = EffectKind::StreamDestroy, .object = stream, .point = RecordPoint::Begin};
}
constexpr Effect event_create(Position out, Position flags) {
  return {.kind = EffectKind::EventCreate, .object = out, .flags = flags};
}
/// An event of another process.
constexpr Effect event_import(Position out) {
  return {.kind = EffectKind::EventCreate, .object = out, .imported = true};
}
constexpr Effect event_destroy(Position event) {
  return {.kind = EffectKind::EventDestroy, .object = event, .point = RecordPoint::Begin};
}
constexpr Effect event_record(Position event, Position stream, Position flags = kAbsent) {
  return {.kind = EffectKind::EventRecord, .stream = stream, .event = event, .flags = flags};
}
constexpr Effect event_wait(Position stream, Position event, Position flags) {
  return {.kind = EffectKind::EventWait, .stream = stream, .event = event, .flags = flags};
}

/// Their order was not seen by older recorders.
constexpr Effect context_record(Position context, Position event, bool green = false) {
  return {.kind = EffectKind::ContextRecord, .object = context, .event = event, .hides_order = true, .green = green};
}
constexpr Effect context_wait(Position context, Position event, bool green = false) {
  return {.kind = EffectKind::ContextWait, .object = context, .event = event, .hides_order = true, .green = green};
}

constexpr Effect sync_stream(Position stream) {
  return {.kind = EffectKind::SyncStream, .stream = stream, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect sync_event(Position event) {
  return {.kind = EffectKind::SyncEvent, .event = event, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect sync_context(Position context = kAbsent) {
  return {
      .kind = EffectKind::SyncContext, .object = context, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect query_stream(Position stream) { return {.kind = EffectKind::QueryStream, .stream = stream}; }
constexpr Effect query_event(Position event) { return {.kind = EffectKind::QueryEvent, .event = event}; }

/// Begin: the function may run, and another thread act on what it says, before the call that enqueued it has returned.
constexpr Effect host_function(Position stream) {
  return {.kind = EffectKind::HostFunction, .stream = stream, .point = RecordPoint::Begin};
}
constexpr Effect stream_action(Position stream) { return {.kind = EffectKind::StreamAction, .stream = stream}; }
/// A launch whose arguments are not seen, or what makes one ready.
constexpr Effect code_action(Position stream) {
  return {.kind = EffectKind::StreamAction, .stream = stream, .runs_code = true};
}
constexpr Effect prefetch(Position stream) {
  return {.kind = EffectKind::StreamAction, .stream = stream, .prefetch = true};
}
constexpr Effect batch_copy(Position dsts, Position srcs, Position sizes, Position count, Position attributes,
                            Position stream) {
  return {.kind = EffectKind::StreamAction,
          .dst = dsts,
          .src = srcs,
          .bytes = sizes,
          .stream = stream,
          .params = attributes,
          .count = count,
          .batch = Batch::Copies};
}
constexpr Effect batch_copy_3d(Position count, Position parts, Position stream) {
  return {.kind = EffectKind::StreamAction, .src = parts, .stream = stream, .count = count, .batch = Batch::Copies3D};
}
constexpr Effect batch_discard(Position addresses, Position sizes, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction,
          .dst = addresses,
          .bytes = sizes,
          .stream = stream,
          .count = count,
          .batch = Batch::Discards};
}
constexpr Effect batch_decompress(Position parts, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction, .src = parts, .stream = stream, .count = count, .batch = Batch::Decompress};
}
constexpr Effect stream_joins_all(Position stream) { return {.kind = EffectKind::StreamJoinsAll, .stream = stream}; }
/// `bits`: of the word.
constexpr Effect write_value(Position stream, Position word, Position value, std::uint8_t bits) {
  return {.kind = EffectKind::StreamAction, .object = word, .src = value, .stream = stream, .word_bits = bits};
}
constexpr Effect wait_value(Position stream, Position word, Position value, Position how, std::uint8_t bits) {
  return {.kind = EffectKind::StreamJoinsAll,
          .object = word,
          .src = value,
          .stream = stream,
          .flags = how,
          .word_bits = bits};
}

constexpr Effect signal_semaphores(Position semaphores, Position values, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction,
          .object = semaphores,
          .src = values,
          .stream = stream,
          .count = count,
          .semaphores = true};
}
constexpr Effect wait_semaphores(Position semaphores, Position values, Position count, Position stream) {
  return {.kind = EffectKind::StreamJoinsAll,
          .object = semaphores,
          .src = values,
          .stream = stream,
          .count = count,
          .semaphores = true};
}
/// cuPointerSetAttribute: what of it matters is a range whose synchronous copies and fills wait (R-CPY-08).
constexpr Effect pointer_attribute(Position value, Position attribute, Position pointer) {
  return {.kind = EffectKind::PointerAttribute, .object = pointer, .src = value, .flags = attribute};
}

constexpr Effect capture_begin(Position stream) { return {.kind = EffectKind::CaptureBegin, .stream = stream}; }
constexpr Effect capture_end(Position stream, Position graph_out) {
  return {.kind = EffectKind::CaptureEnd, .object = graph_out, .stream = stream};
}
constexpr Effect graph_instantiate(Position exec_out, Position graph, Position flags = kAbsent) {
  return {.kind = EffectKind::GraphInstantiate, .object = exec_out, .src = graph, .flags = flags};
}
/// `parameters`: a CUDA_GRAPH_INSTANTIATE_PARAMS*, which has the flags.
constexpr Effect graph_instantiate_with(Position exec_out, Position graph, Position parameters) {
  return {.kind = EffectKind::GraphInstantiate, .object = exec_out, .src = graph, .params = parameters};
}
constexpr Effect graph_launch(Position exec, Position stream) {
  return {.kind = EffectKind::GraphLaunch, .object = exec, .stream = stream};
}
constexpr Effect graph_update(Position exec, Position graph) {
  return {.kind = EffectKind::GraphUpdate, .object = exec, .src = graph};
}
constexpr Effect graph_node_update(Position exec, Position node) {
  return {.kind = EffectKind::GraphNodeUpdate, .object = exec, .src = node};
}
/// `child`: the graph that the node is a copy of.
constexpr Effect graph_add_node(Position node_out, Position child = kAbsent) {
  return {.kind = EffectKind::GraphAddNode, .object = node_out, .src = child};
}
/// One that older recorders did not read, and that may make order.
constexpr Effect graph_add_order_node(Position node_out) {
  return {.kind = EffectKind::GraphAddNode, .object = node_out, .hides_order = true};
}
constexpr Effect graph_clone(Position graph_out, Position original) {
  return {.kind = EffectKind::GraphClone, .object = graph_out, .src = original};
}

/// Named by a string, or after another handle (cuKernelGetFunction).
constexpr Effect function_lookup(Position out, Position name, Position named_after = kAbsent) {
  return {.kind = EffectKind::FunctionLookup, .object = out, .src = named_after, .params = name};
}
constexpr Effect kernel_lookup(Position out, Position name) {
  return {.kind = EffectKind::FunctionLookup, .object = out, .params = name, .makes_kernel = true};
}
constexpr Effect unload(Position handle) {
  return {.kind = EffectKind::Unload, .object = handle, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect context_destroy(Position handle, ContextEnd ends = ContextEnd::Counted) {
  return {.kind = EffectKind::ContextDestroy,
          .object = handle,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin,
          .ends = ends};
}

}  // namespace streamsan::api
