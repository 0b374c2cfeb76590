// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/site_reader.h"

#include <algorithm>
#include <iterator>

#include "judge/frames.h"
#include "report/short_name.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

using ordering::SiteId;
using report::Frame;

/// Frames of the program's own modules that make up a fingerprint.
constexpr std::size_t kFingerprintFrames = 8;

std::string direction_note(const api::Row& row) {
  bool copies = row.effect.kind == api::EffectKind::Copy || row.effect.kind == api::EffectKind::Copy2D ||
                row.effect.kind == api::EffectKind::Copy3D;
  if (!copies) return "";
  switch (row.effect.direction) {
    case api::Direction::HostToDevice:
      return " (host to device)";
    case api::Direction::DeviceToHost:
      return " (device to host)";
    case api::Direction::DeviceToDevice:
      return " (device to device)";
    case api::Direction::Array:
      return " (array)";
    case api::Direction::ByAddress:
      return "";
  }
  return "";
}

/// " (graph node 3)", " (graph node 3, conditional)", or nothing.
std::string node_note(const ordering::Access& access) {
  if (access.node == 0) return "";
  return " (graph node " + std::to_string(access.node) + (access.conditional ? ", conditional)" : ")");
}

report::Evidence evidence_of(const ordering::Access& access) {
  if (access.bounded) return report::Evidence::Texture;
  switch (ordering::evidence_of_bytes(access)) {
    case ordering::Evidence::Inferred:
      return report::Evidence::Inferred;
    case ordering::Evidence::Widened:
      return report::Evidence::Widened;
    case ordering::Evidence::Learned:
      return report::Evidence::Learned;
    case ordering::Evidence::Sure:
      return report::Evidence::Exact;
  }
  return report::Evidence::Inferred;
}

std::vector<Frame> python_stack(const std::vector<const PythonFrame*>& frames, bool forward) {
  std::vector<Frame> out;
  for (const PythonFrame* frame : frames) {
    out.push_back({.function = frame->function,
                   .file = frame->file,
                   .line = frame->line,
                   .language = report::Language::Python,
                   .forward = forward,
                   .symbolised = true});
  }
  return out;
}

/// The program's own of them, or, where all are of packages, those.
void add_python(Fingerprint& print, const std::vector<const PythonFrame*>& frames) {
  const bool own = std::any_of(frames.begin(), frames.end(), [](auto* f) { return !is_python_package(f->file); });
  std::size_t used = 0;
  for (const PythonFrame* frame : frames) {
    if (own && is_python_package(frame->file)) continue;
    print.add(std::string(base_name(frame->file)) + ":" + std::to_string(frame->line) + " " + frame->function);
    if (++used == kFingerprintFrames) break;
  }
}

bool is_torch_allocator(const std::vector<Frame>& stack) {
  return !stack.empty() && base_name(stack.front().module).starts_with("libc10_cuda.");
}

}  // namespace

/// Names inside the driver, libc and ourselves would tell nobody anything.
bool SiteReader::symbolised(const RawFrame& frame, bool under_python) {
  if (frame.module == kNoModule) return false;
  const Module& module = places_.module(frame.module);
  if (under_python && is_interpreter_module(module.path)) return false;
  std::string name(base_name(module.path));
  if (name.starts_with("libcuda.") || name.starts_with("libstreamsan") || name.starts_with("libc.")) return false;
  return symbolizer_.stands(module.path, module.build_id);
}

void SiteReader::want(SiteId site) {
  const bool under_python = !places_.python_frames(site).empty();
  for (const RawFrame& frame : places_.frames(site)) {
    if (symbolised(frame, under_python)) symbolizer_.want(places_.module(frame.module).path, frame.offset);
  }
}

const std::vector<Frame>& SiteReader::stack(SiteId site) {
  auto [it, fresh] = stacks_.try_emplace(static_cast<std::uint32_t>(site));
  std::vector<Frame>& out = it->second;
  if (!fresh) return out;
  std::vector<Frame> python = python_stack(places_.python_frames(site), false);
  for (const RawFrame& raw : places_.frames(site)) {
    std::string module = raw.module == kNoModule ? "" : places_.module(raw.module).path;
    if (symbolised(raw, !python.empty())) {
      for (Frame& frame : symbolizer_.frames(module, raw.offset, raw.address)) out.push_back(std::move(frame));
    } else {
      out.push_back({.address = raw.address, .module = module, .offset = raw.offset});
    }
  }
  merge_python_frames(out, std::move(python));
  std::ranges::move(python_stack(places_.forward_frames(site), true), std::back_inserter(out));
  mark_library_frames(out, places_.kernel_of(site).demangled);
  return out;
}

std::string SiteReader::function(SiteId site) const {
  if (site == ordering::kNoSite) return "";
  return places_.at(site).kind == SiteKind::Driver ? std::string(places_.row(site).symbol) : places_.function_of(site);
}

std::string SiteReader::what(SiteId site, bool launches) {
  if (site == ordering::kNoSite) return "";
  const std::vector<Frame>& stack = this->stack(site);
  const std::string library = library_call(stack);
  const std::string where = library.empty() ? "" : " in " + library;
  switch (places_.at(site).kind) {
    case SiteKind::Driver:
      break;
    case SiteKind::Instruction:
    case SiteKind::Unseen:
      return "the host";
    case SiteKind::Function:
      return places_.function_of(site) + "()" + where;
    case SiteKind::Return:
      return "the return of the function whose variable it was";
    case SiteKind::Pool:
      return is_torch_allocator(stack) ? "PyTorch's allocator" : "the pool";
    case SiteKind::Thread:
      return thread_maker(stack, places_.function_of(site));
  }
  const Kernel& kernel = places_.kernel_of(site);
  if (places_.at(site).kernel != 0 || launches) {
    return "kernel " + (kernel.demangled.empty() ? "(name not known)" : report::short_name(kernel.demangled)) + where;
  }
  const api::Row& row = places_.row(site);
  std::string name = runtime_call(stack);
  return (name.empty() ? std::string(row.base) : name) + direction_note(row) + where;
}

bool SiteReader::is_host_itself(SiteId site) const {
  if (site == ordering::kNoSite) return false;
  const SiteKind kind = places_.at(site).kind;
  return kind == SiteKind::Instruction || kind == SiteKind::Unseen;
}

std::string SiteReader::action(SiteId site, const ordering::Access& access) {
  if (site == ordering::kNoSite) return "";
  switch (places_.at(site).kind) {
    case SiteKind::Driver:
    case SiteKind::Function:
    case SiteKind::Return:
    case SiteKind::Thread:
      break;
    case SiteKind::Instruction:
    case SiteKind::Unseen:
      return access.mode == ordering::AccessMode::Read ? "the host's read" : "the host's write";
    case SiteKind::Pool:
      return access.source == ordering::AccessSource::Free ? "the block's release" : "the block's reuse";
  }
  return what(site, access.source == ordering::AccessSource::Kernel) + node_note(access);
}

std::string SiteReader::place(SiteId site) {
  const std::vector<Frame>& stack = this->stack(site);
  auto it = std::find_if(stack.begin(), stack.end(), [](const Frame& f) { return !f.library; });
  if (it == stack.end() || it->file.empty()) return "";
  return " (" + frame_place(*it) + ")";
}

report::AccessReport SiteReader::access(const ordering::Access& access, const StreamLife& stream) {
  report::AccessReport out;
  out.verb = verb_of(access);
  out.api = function(access.site);
  out.stack = stack(access.site);
  const bool kernel = access.source == ordering::AccessSource::Kernel;
  if (kernel) out.kernel = places_.kernel_of(access.site).demangled;
  out.what = what(access.site, kernel) + node_note(access);
  out.stream = ordering::is_inside_graph(access)
                   ? report::Stream{.name = "the graph", .kind = report::StreamKind::Graph}
               : access.on_stream ? stream_report(stream)
                                  : report::Stream{.name = "the host"};
  out.op = static_cast<std::uint64_t>(access.op);
  out.thread = static_cast<std::uint32_t>(access.thread);
  const HostThread& thread = places_.host_thread(access.thread);
  out.thread_name = thread.name;
  out.main_thread = thread.first;
  out.evidence = evidence_of(access);
  out.begin = access.range.begin;
  out.end = access.range.end;
  return out;
}

report::BufferReport SiteReader::buffer(const ordering::AllocationInfo& allocation) {
  report::BufferReport out;
  out.memory = memory_name(allocation.kind);
  out.stack = stack(allocation.site);
  out.allocator = what(allocation.site);
  const Site& site = places_.at(allocation.site);
  out.variable = allocation.site != ordering::kNoSite && site.kind == SiteKind::Driver &&
                 places_.row(allocation.site).effect.kind == api::EffectKind::GlobalLookup;
  if (out.variable) {
    out.memory = "a module's variable";
    // The recorder met it in a footprint, and no call was made for it.
    if (out.stack.empty()) out.allocator.clear();
  }
  out.address = allocation.range.begin;
  if (allocation.kind == ordering::MemoryKind::Array) {
    out.memory = places_.array_words(allocation.range.begin);
    out.address = 0;
  }
  out.bytes = allocation.range.size();
  return out;
}

FailureNouns SiteReader::failure(const FailedCall& call) {
  constexpr std::uint32_t kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE
  FailureNouns out;
  out.call = what(call.site);
  if (call.event) out.call += "(" + event_name(call.event_life) + ")";
  out.at = place(call.site);
  out.result = result_text(call.result);
  switch (call.row->effect.kind) {
    case api::EffectKind::EventRecord:
      out.consequence = "nothing was recorded";
      if (call.result == kInvalidHandle) out.advice = "create the event on the device of the stream";
      break;
    case api::EffectKind::EventWait:
      out.consequence = "the stream does not wait";
      break;
    default:
      out.consequence = "the host did not wait";
      break;
  }
  return out;
}

report::RelatedOp SiteReader::related(const FailedCall& call) {
  const FailureNouns words = failure(call);
  return {.what = words.call + ", failed with " + words.result, .api = function(call.site), .stack = stack(call.site)};
}

void SiteReader::add_to(Fingerprint& print, SiteId site) const {
  const Site& at = places_.at(site);
  print.add(at.kind == SiteKind::Driver ? places_.row(site).base : std::string_view(places_.function_of(site)));
  if (at.kind != SiteKind::Driver) print.add(std::string("doer ") + std::to_string(static_cast<int>(at.kind)));
  print.add(places_.kernel_of(site).mangled);
  std::size_t used = 0;
  const std::vector<const PythonFrame*> python = places_.python_frames(site);
  const std::vector<const PythonFrame*> forward = places_.forward_frames(site);
  const bool under_python = !python.empty() || !forward.empty();
  for (const RawFrame& frame : places_.frames(site)) {
    if (frame.module == kNoModule || is_library_module(places_.module(frame.module).path)) continue;
    const std::string& path = places_.module(frame.module).path;
    if (under_python && (is_interpreter_module(path) || is_python_package(path))) continue;
    print.add(std::string(base_name(path)) + "+" + report::hex(frame.offset));
    if (++used == kFingerprintFrames) break;
  }
  add_python(print, python);
  if (!forward.empty()) print.add("forward");
  add_python(print, forward);
}

report::Stream stream_report(const StreamLife& life) {
  report::Stream out{.handle = life.handle};
  const std::string device = life.device ? " of device " + std::to_string(*life.device) : "";
  switch (life.kind) {
    case ordering::StreamKind::Legacy:
      return {"the legacy default stream" + device, report::StreamKind::Legacy, life.handle};
    case ordering::StreamKind::PerThread:
      return {
          "the per-thread default stream of thread " + std::to_string(static_cast<std::uint32_t>(life.thread)) + device,
          report::StreamKind::PerThread, life.handle};
    case ordering::StreamKind::Blocking:
      out.kind = report::StreamKind::Blocking;
      break;
    case ordering::StreamKind::NonBlocking:
      out.kind = report::StreamKind::NonBlocking;
      break;
  }
  out.name = life.number == 0    ? "a destroyed stream"
             : life.name.empty() ? "stream " + std::to_string(life.number)
                                 : "stream \"" + life.name + "\"";
  if (life.number != 0) out.name += device;
  return out;
}

std::string event_name(const EventLife& life) {
  return life.number ? "event " + std::to_string(life.number) : "an event (destroyed since)";
}

}  // namespace streamsan::judge
