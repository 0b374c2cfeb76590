// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/places.h"

#include <algorithm>

#include "judge/signature.h"
#include "report/common/call_name.h"

namespace streamsan::judge {
namespace {

// A site's key packs its three numbers: 12 bits of API, 20 of kernel, 32 of stack. The last API is none: its kernel is
// 4 bits of SiteKind and 16 of function.
constexpr std::uint32_t kMostKernels = 1u << 20;
constexpr std::uint64_t kNoApi = 0xfff;
static_assert(api::kRowCount <= kNoApi);
constexpr std::size_t kMostFunctions = 1000;  // libc has fewer that matter; a damaged trace may have any number

constexpr api::Row kNoCall{};

}  // namespace

Places::Places() : kernels_(1), functions_(1), sites_(1) {}

void Places::add_module(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Module>();
  modules_.push_back({.path = std::string(trace::payload_text(item.payload, 0, w.path_bytes)),
                      .bias = w.bias,
                      .low = w.low,
                      .high = w.high,
                      .build_id = std::string(trace::payload_text(item.payload, w.path_bytes, w.build_id_bytes))});
}

void Places::add_stack(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Stack>();
  stacks_[w.id] = {addresses_.size(), static_cast<std::uint32_t>(w.frames), static_cast<std::uint32_t>(w.python_frames),
                   static_cast<std::uint32_t>(modules_.size()), w.forward};
  addresses_.insert(addresses_.end(), item.payload.begin(),
                    item.payload.begin() + static_cast<std::ptrdiff_t>(w.frames + w.python_frames));
}

void Places::add_python_frame(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::PythonFrame>();
  python_.push_back({.function = std::string(trace::payload_text(item.payload, 0, w.function_bytes)),
                     .file = std::string(trace::payload_text(item.payload, w.function_bytes, w.file_bytes)),
                     .line = static_cast<std::uint32_t>(w.line)});
  python_by_id_[w.id] = static_cast<std::uint32_t>(python_.size());
}

void Places::add_host_thread(const trace::Item& item) {
  const trace::Record& record = *item.record;
  const auto& w = record.as<trace::Kind::HostThread>();
  const std::string_view function = trace::payload_text(item.payload, w.name_bytes, w.function_bytes);
  HostThread& thread = host_threads_[record.thread];
  thread.first = w.first == 1;
  thread.name = trace::payload_text(item.payload, 0, w.name_bytes);
  if (record.stack != 0) thread.created = site_outside(SiteKind::Thread, function, record.stack);
}

void Places::add_array(const trace::Record& record) {
  const auto& sizes = record.as<trace::Kind::ArraySizes>();
  if (arrays_.size() < kMostArrays) arrays_[sizes.address] = sizes;
}

std::string Places::array_words(ordering::Address address) const {
  const auto* sizes = arrays_.find(address);
  if (!sizes) return "an array";
  std::string out = sizes->levels > 1 ? "a mipmapped array of " : "an array of ";
  out += std::to_string(sizes->width);
  if (sizes->height > 1 || sizes->depth > 1) out += " x " + std::to_string(sizes->height);
  if (sizes->depth > 1) out += " x " + std::to_string(sizes->depth);
  return out + (sizes->element ? " x " + std::to_string(sizes->element) + (sizes->element == 1 ? " byte" : " bytes")
                               : " elements");
}

const HostThread& Places::host_thread(ordering::ThreadId thread) const {
  static const HostThread nothing;
  const auto known = host_threads_.find(static_cast<std::uint16_t>(thread));
  return known == host_threads_.end() ? nothing : known->second;
}

void Places::add_kernel(const trace::Item& item) {
  if (kernels_.size() == kMostKernels) return;
  const auto& w = item.record->as<trace::Kind::Function>();
  Kernel kernel;
  kernel.trace_id = w.id;
  kernel.mangled = trace::payload_text(item.payload, 0, w.name_bytes);
  kernel.demangled = demangle(kernel.mangled);
  kernel.roles = pointer_roles(kernel.mangled);
  kernel_by_id_[w.id] = static_cast<std::uint32_t>(kernels_.size());
  kernels_.push_back(std::move(kernel));
}

void Places::add_foreign(std::uint16_t api, std::string_view symbol) {
  if (api < api::kRowCount || api >= kNoApi) return;
  const auto [place, fresh] = foreign_.try_emplace(api);
  if (!fresh) return;
  Foreign& added = place->second;
  added.symbol = symbol;
  added.row.symbol = added.symbol;
  added.row.base = report::written_name(added.symbol);
}

const api::Row& Places::row_of(std::uint16_t api) const {
  if (api < api::kRowCount) return api::kRows[api];
  if (const auto known = foreign_.find(api); known != foreign_.end()) return known->second.row;
  // A record of a damaged trace: no function's name or meaning is lent to it.
  static const api::Row unknown = [] {
    api::Row row{};
    row.symbol = row.base = "unknown function";
    return row;
  }();
  return unknown;
}

std::uint32_t Places::kernel_index(std::uint64_t function_id) const {
  const std::uint32_t* index = kernel_by_id_.find(function_id);
  return index ? *index : 0;
}

ordering::SiteId Places::site(std::uint16_t api, std::uint32_t kernel, std::uint32_t stack) {
  if (api >= kNoApi) api = static_cast<std::uint16_t>(kNoApi - 1);  // in no table, see row_of()
  std::uint64_t key = std::uint64_t{api} << 52 | std::uint64_t{kernel} << 32 | stack;
  std::uint32_t& site = site_by_key_[key];
  if (site == 0) {
    site = static_cast<std::uint32_t>(sites_.size());
    sites_.push_back({.api = api, .kernel = kernel, .stack = stack});
  }
  return ordering::SiteId{site};
}

ordering::SiteId Places::site_outside(SiteKind kind, std::string_view function, std::uint32_t stack) {
  auto known = std::find(functions_.begin(), functions_.end(), function);
  if (known == functions_.end() && functions_.size() < kMostFunctions) {
    known = functions_.insert(functions_.end(), std::string(function));
  }
  const auto index = static_cast<std::uint16_t>(known == functions_.end() ? 0 : known - functions_.begin());
  const auto of_kind = static_cast<std::uint64_t>(kind);
  std::uint32_t& site = site_by_key_[kNoApi << 52 | of_kind << 48 | std::uint64_t{index} << 32 | stack];
  if (site == 0) {
    site = static_cast<std::uint32_t>(sites_.size());
    sites_.push_back({.stack = stack, .kind = kind, .function = index});
  }
  return ordering::SiteId{site};
}

const Site& Places::at(ordering::SiteId site) const {
  auto index = static_cast<std::size_t>(site);
  return sites_[index < sites_.size() ? index : 0];
}

const api::Row& Places::row(ordering::SiteId site) const {
  if (at(site).kind != SiteKind::Driver) return kNoCall;
  return row_of(at(site).api);
}

std::vector<RawFrame> Places::frames(ordering::SiteId site) const {
  std::vector<RawFrame> out;
  const Stack* stack = stacks_.find(at(site).stack);
  if (!stack) return out;
  auto enter = [this](RawFrame& frame, std::uint32_t m) {
    if (frame.address < modules_[m].low || frame.address >= modules_[m].high) return;
    frame.module = m;
    frame.offset = frame.address - modules_[m].bias;
  };
  const auto all = static_cast<std::uint32_t>(modules_.size());
  for (std::uint32_t i = 0; i < stack->count; ++i) {
    RawFrame frame{.address = addresses_[stack->first + i]};
    for (std::uint32_t m = stack->modules; m > 0 && frame.module == kNoModule; --m) enter(frame, m - 1);
    for (std::uint32_t m = stack->modules; m < all && frame.module == kNoModule; ++m) enter(frame, m);
    out.push_back(frame);
  }
  return out;
}

std::vector<const PythonFrame*> Places::python_frames(ordering::SiteId site) const {
  return python_frames(stacks_.find(at(site).stack));
}

std::vector<const PythonFrame*> Places::forward_frames(ordering::SiteId site) const {
  const Stack* stack = stacks_.find(at(site).stack);
  return python_frames(stack && stack->forward != 0 ? stacks_.find(stack->forward) : nullptr);
}

std::vector<const PythonFrame*> Places::python_frames(const Stack* stack) const {
  std::vector<const PythonFrame*> out;
  if (!stack) return out;
  for (std::uint32_t i = 0; i < stack->python; ++i) {
    const std::uint32_t* index = python_by_id_.find(addresses_[stack->first + stack->count + i]);
    if (index) out.push_back(&python_[*index - 1]);
  }
  return out;
}

}  // namespace streamsan::judge
