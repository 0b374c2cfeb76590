// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels, and calls of libraries that launch kernels of their own.
//
// The effects of a kernel on its arguments are found in its body (kernel_effects.h). If an access certainly begins at
// the pointer, the first byte is known to be touched. If it may begin further on, by a number among the arguments, it
// may go to another part than that of another kernel, and nothing is certain.
#include <algorithm>
#include <cstring>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/parameters.h"
#include "analyzer/interpreter/values.h"
#include "analyzer/lowering/device_dense.h"
#include "analyzer/lowering/exact_bytes.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/RecordLayout.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {

using ordering::AccessMode;

namespace {

AccessMode mode_of(const PointerEffect& effect) {
  if (effect.unknown) return AccessMode::Unknown;
  if (effect.writes) return effect.depends_on_data ? AccessMode::Unknown : AccessMode::Write;
  if (effect.atomics) return AccessMode::Atomic;
  return effect.reads ? AccessMode::Read : AccessMode::Doubtful;
}

AccessMode mode_of(ir::Mode mode) {
  return mode == ir::Mode::Read      ? AccessMode::Read
         : mode == ir::Mode::Atomic  ? AccessMode::Atomic
         : mode == ir::Mode::Unknown ? AccessMode::Unknown
                                     : AccessMode::Write;
}

}  // namespace

Word Cuda::Parameter::value() const {
  Word result = 0;
  if (size <= sizeof result) std::memcpy(&result, reinterpret_cast<const void*>(at), size);
  return result;
}

ordering::FunctionId Cuda::number_of(const std::string& function) {
  return ordering::FunctionId{
      functions_.try_emplace(function, static_cast<std::uint32_t>(functions_.size() + 1)).first->second};
}

std::optional<std::vector<Cuda::Parameter>> Cuda::parameters_of(Machine& machine, const clang::FunctionDecl& kernel,
                                                                Word list) const {
  std::vector<Parameter> result;
  for (const clang::ParmVarDecl* declared : kernel.parameters()) {
    const clang::QualType type = declared->getType().getNonReferenceType();
    Parameter parameter{.declared = declared,
                        .size = static_cast<std::size_t>(symbols_.context().getTypeSizeInChars(type).getQuantity())};
    const Word slot = list + result.size() * sizeof(Word);
    if (!machine.reads(slot, sizeof(Word))) return std::nullopt;
    parameter.at = load_word(slot);
    if (!machine.reads(parameter.at, parameter.size)) return std::nullopt;
    result.push_back(parameter);
  }
  return result;
}

std::optional<std::size_t> Cuda::offset_of(const clang::CXXRecordDecl& record, std::string_view path) const {
  const clang::CXXRecordDecl* in = &record;
  std::size_t offset = 0;
  while (!path.empty()) {
    const std::string_view word = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), word.size() + 1));
    if (in == nullptr) return std::nullopt;
    const auto field =
        llvm::find_if(in->fields(), [&](const clang::FieldDecl* each) { return each->getNameAsString() == word; });
    if (field == in->field_end()) return std::nullopt;
    offset += symbols_.context().getASTRecordLayout(in).getFieldOffset(field->getFieldIndex()) / 8;
    in = field->getType()->getAsCXXRecordDecl();
  }
  return offset;
}

void Cuda::submit(Word handle, ordering::Call call, const ordering::LaunchShape& shape,
                  std::vector<ordering::PointerArgument> pointers, std::vector<ordering::KernelBytes> bytes) {
  enqueue(handle, call,
          [this, shape, pointers = std::move(pointers), bytes = std::move(bytes)](
              ordering::Call here, ordering::StreamId stream) { model_.launch(here, stream, shape, pointers, bytes); });
}

/// Does the pointer point to the begin of a block, and does a number give the length of that block in elements? If the
/// kernel has numbers that say where its work ends, only these count.
bool Cuda::fills(const Parameter& pointer, Word address, const std::vector<Parameter>& given,
                 std::uint32_t limits) const {
  const auto block = blocks_.find(address);
  const clang::QualType type = pointer.declared->getType().getNonReferenceType();
  if (block == blocks_.end() || !type->isPointerType() || type->getPointeeType()->isIncompleteType()) return false;
  const auto element = static_cast<Word>(symbols_.context().getTypeSizeInChars(type->getPointeeType()).getQuantity());
  for (std::size_t i = 0; i < given.size() && i < 32; ++i)
    if ((limits == 0 || (limits >> i & 1U) != 0) && given[i].declared->getType()->isIntegerType() &&
        given[i].value() <= Memory::kMostSize && given[i].value() * element == block->second - address)
      return true;
  return false;
}

void Cuda::forget_pointers(Word at, Word bytes) {
  const auto block = blocks_.upper_bound(at);
  Word end = at + bytes;
  if (block != blocks_.begin() && !Memory::is_device(at)) written_blocks_.insert(std::prev(block)->first);
  if (block != blocks_.begin() && std::prev(block)->second > at) end = std::min(end, std::prev(block)->second);
  pointers_.erase(pointers_.lower_bound(at), pointers_.lower_bound(end));
  forget_values(at, end);
}

void Cuda::keep_pointers(Machine& machine, Word to, Word from, Word bytes) {
  constexpr Word kMost = 4096;
  if (!Memory::is_device(to)) return;
  forget_pointers(to, bytes);
  if (bytes > kMost || !capturing_.empty() || !machine.memory().contains(from, bytes)) return;
  for (Word i = 0; i + sizeof(Word) <= bytes; i += sizeof(Word))
    if (const Word value = load_word(from + i); Memory::is_device(value) || machine.memory().is_pinned(value))
      pointers_[to + i] = value;
}

std::optional<Word> Cuda::pointer_at(Machine& machine, Word address) const {
  const auto is_shared = [&](Word at) { return Memory::is_device(at) || machine.memory().is_pinned(at); };
  if (const auto known = pointers_.find(address); known != pointers_.end()) return known->second;
  const auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin() || written_blocks_.contains(std::prev(block)->first)) return std::nullopt;
  if (!machine.memory().contains(address, sizeof(Word)) || !is_shared(load_word(address))) return std::nullopt;
  return load_word(address);
}

void Cuda::add_exact(Machine& machine, const clang::FunctionDecl& kernel, const Shape& shape,
                     const std::vector<Parameter>& given, std::vector<ordering::KernelBytes>& bytes) const {
  KnownLaunch launch{.grid = shape.grid, .block = shape.block};
  for (const Parameter& parameter : given) launch.arguments.push_back(parameter.at);
  launch.load = [&](Word address, std::size_t size) -> std::optional<Word> {
    Word value = 0;
    const bool is_argument = std::ranges::any_of(given, [&](const Parameter& each) {
      return address - each.at < each.size && size <= each.size - (address - each.at);
    });
    // Values that the GPU has computed are not known. But these are no pointers.
    if (!is_argument) return size == sizeof value ? pointer_at(machine, address) : std::nullopt;
    if (size > sizeof value) return std::nullopt;
    std::memcpy(&value, reinterpret_cast<const void*>(address), size);
    return value;
  };
  for (const ExactBytes& each : exact_bytes(kernel, launch)) {
    const Word base = each.bytes.base;
    auto block = blocks_.upper_bound(base);
    if (block == blocks_.begin()) continue;
    --block;
    const Word end = base + (each.bytes.rows - 1) * each.bytes.pitch +
                     (each.bytes.slices - 1) * each.bytes.slice_pitch + each.bytes.width;
    // The offsets that a made-up caller passes mean nothing.
    if (base >= block->second || end > block->second || (made_up_ && base != block->first)) continue;
    bytes.push_back({.bytes = each.bytes, .mode = mode_of(each.mode), .widened = false, .early = false});
  }
}

void Cuda::launch_kernel(Machine& machine, const llvm::Function& stub, const Shape& launched, Word parameters,
                         Word handle, bool overlaps) {
  const std::uint64_t threads = launched.threads();
  if (threads == 0) return;
  const clang::FunctionDecl* kernel = declared(stub);
  std::vector<ordering::PointerArgument> pointers;
  std::vector<ordering::KernelBytes> bytes;
  std::uint64_t hash = 0;
  GridBehaviour behaviour;
  if (kernel != nullptr) {
    const auto given = parameters_of(machine, *kernel, parameters);
    if (!given) return;
    behaviour = kernels_.behaviour(*kernel);
    const std::vector<ParameterEffect>& effects = kernels_.of(*kernel);
    const auto any_of = [&](std::uint32_t bits, bool zero) {
      for (std::size_t i = 0; i < given->size() && i < 32; ++i)
        if ((bits >> i & 1U) != 0 && (*given)[i].size <= sizeof(Word) && ((*given)[i].value() == 0) == zero)
          return true;
      return false;
    };
    // A number that says where the work ends and is 0 here may have been computed by the GPU.
    const std::uint32_t limits = kernels_.limits(*kernel);
    const bool is_empty = any_of(limits, true);
    const auto add = [&](const Parameter& parameter, std::size_t offset, const PointerEffect& effect) {
      if (offset + sizeof(Word) > parameter.size) return;
      const Word address = load_word(parameter.at + offset);
      if (address == 0) return;
      using Kind = ir::Part::Kind;
      const ir::Part& part = effect.part;
      const bool early = effect.before_wait != ir::Certainty::No;
      const AccessMode mode = is_empty ? AccessMode::Doubtful : mode_of(effect);
      const bool sure = mode == AccessMode::Write || mode == AccessMode::Read || mode == AccessMode::Atomic;
      const bool at_start = part.kind == Kind::Whole ||
                            (part.kind == Kind::From && part.arguments != 0 && !any_of(part.arguments, false));
      const bool one = part.kind == Kind::Single && part.bytes;
      const Word from = one ? static_cast<Word>(*part.bytes) : 0;
      // If it does not begin at the pointer, it may be another part than that of another kernel, but lies behind it.
      pointers.push_back({.address = address,
                          .mode = mode,
                          .early = early,
                          .reach = at_start ? 0
                                   : one    ? from + 1
                                            : Memory::kMostSize,
                          .parted = !at_start});
      if (!sure || effect.depends_on_data || !(at_start || one)) return;
      // It certainly begins there. It goes to the end of the block if a number says that the work ends there.
      bool all = part.kind == Kind::Whole && offset == 0 && fills(parameter, address, *given, limits);
      if (all) {
        const auto [known, fresh] = dense_.try_emplace(parameter.declared);
        if (fresh) known->second = device::is_dense(*kernel, *parameter.declared);
        all = known->second;
      }
      bytes.push_back({.bytes = linear(address + from, all ? blocks_.at(address) - address : 1),
                       .mode = mode,
                       .widened = false,
                       .early = early});
    };
    for (std::size_t i = 0; i < given->size(); ++i) {
      const Parameter& parameter = (*given)[i];
      for (std::size_t byte = 0; byte < parameter.size; ++byte)
        hash = (hash ^ reinterpret_cast<const Byte*>(parameter.at)[byte]) * 1099511628211ULL;
      if (i >= effects.size()) continue;
      const clang::QualType type = parameter.declared->getType().getNonReferenceType();
      const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
      if (type->isPointerType()) {
        add(parameter, 0, effects[i]);
      } else if (record != nullptr && record->hasDefinition()) {
        for (const auto& [member, effect] : effects[i].by_member)
          if (const auto offset = offset_of(*record, member)) add(parameter, *offset, effect);
      }
    }
    if (kernels_.meets_others(*kernel)) {
      // While the kernel runs, it may wait for stores of another one: an order that is not seen.
      bytes.clear();
      for (ordering::PointerArgument& pointer : pointers) pointer.mode = AccessMode::Doubtful;
    } else if (!overlaps && !made_up_) {  // sizes that a made-up caller gives need not fit the grid
      add_exact(machine, *kernel, launched, *given, bytes);
    }
    for (const ordering::PointerArgument& pointer : pointers)
      if (pointer.mode != AccessMode::Read) forget_pointers(pointer.address, Memory::kMostSize);
  }
  ordering::LaunchShape shape{.function = number_of(stub.getName().str()), .threads = threads, .arguments_hash = hash};
  const auto [front, first] = fronts_.try_emplace(handle, behaviour);
  if (overlaps && kernel != nullptr && !first) {
    shape.dependence = {
        .overlaps = true,
        .waits = behaviour.waits != ir::Certainty::No,
        .front = front->second.touches_after_trigger ? ordering::Trigger::Early : ordering::Trigger::Unknown,
        .front_waits_first = front->second.triggers_first == ir::Certainty::No};
  }
  front->second = behaviour;
  const ordering::Call call =
      now(machine, kernel == nullptr ? "a kernel" : "kernel '" + kernel->getNameAsString() + "'");
  if (kernel != nullptr) launched_[call.site] = kernel->getNameAsString();
  submit(handle, call, shape, std::move(pointers), std::move(bytes));
}

namespace {

/// A dim3, in the words (x and y, z) that it is passed in.
std::array<std::uint32_t, 3> dim3_of(Word xy, Word z) {
  return {static_cast<std::uint32_t>(xy), static_cast<std::uint32_t>(xy >> 32U), static_cast<std::uint32_t>(z)};
}

}  // namespace

std::uint64_t Cuda::Shape::threads() const {
  std::uint64_t result = 1;
  for (const std::uint32_t count : grid) result *= count;
  for (const std::uint32_t count : block) result *= count;
  return result;
}

void Cuda::push_configuration(Machine& machine, const Arguments& arguments) {
  launches_[machine.thread().number].push_back({.grid = {arguments.word(0), arguments.word32(1)},
                                                .block = {arguments.word(2), arguments.word32(3)},
                                                .shared = arguments.word(4),
                                                .stream = arguments.word(5)});
}

void Cuda::pop_configuration(Machine& machine, const Arguments& arguments) {
  std::vector<Launch>& configured = launches_[machine.thread().number];
  if (configured.empty()) return;
  const Launch launch = configured.back();
  configured.pop_back();
  static_cast<void>(
      machine.store(arguments.word(0), launch.grid[0]) && machine.store(arguments.word(0) + 8, launch.grid[1], 4) &&
      machine.store(arguments.word(1), launch.block[0]) && machine.store(arguments.word(1) + 8, launch.block[1], 4) &&
      machine.store(arguments.word(2), launch.shared) && machine.store(arguments.word(3), launch.stream));
}

void Cuda::launch_plain(Machine& machine, const Arguments& arguments) {
  if (const llvm::Function* stub = machine.image().function_at(arguments.word(0)))
    launch_kernel(machine, *stub,
                  {.grid = dim3_of(arguments.word(1), arguments.word32(2)),
                   .block = dim3_of(arguments.word(3), arguments.word32(4))},
                  arguments.word(5), arguments.word(7), false);
}

void Cuda::launch_configured(Machine& machine, const Arguments& arguments) {
  const Word config = arguments.word(0);
  if (!machine.reads(config, 56)) return;
  const auto word = [&](std::size_t offset, std::size_t size = 8) {
    Word value = 0;
    std::memcpy(&value, reinterpret_cast<const Byte*>(config) + offset, size);
    return value;
  };
  bool overlaps = false;
  const Word attributes = word(40), count = word(48, 4);
  constexpr Word kProgrammatic = 6, kAttribute = 72;
  for (Word i = 0; i < count && i < 16; ++i) {
    const Word one = attributes + i * kAttribute;
    if (!machine.reads(one, kAttribute)) break;
    std::uint32_t id = 0, on = 0;
    std::memcpy(&id, reinterpret_cast<const Byte*>(one), sizeof id);
    std::memcpy(&on, reinterpret_cast<const Byte*>(one) + 8, sizeof on);
    overlaps = overlaps || (id == kProgrammatic && on != 0);
    constexpr std::uint32_t kProgrammaticEvent = 7, kCompletionEvent = 12;
    if (id == kProgrammaticEvent || id == kCompletionEvent) {
      may_wait(machine);  // events that the launch itself records are not followed
      return;
    }
  }
  if (const llvm::Function* stub = machine.image().function_at(arguments.word(1)))
    launch_kernel(machine, *stub, {.grid = dim3_of(word(0), word(8, 4)), .block = dim3_of(word(12), word(20, 4))},
                  arguments.word(2), word(32), overlaps);
}

/// (function, grid x, y, z, block x, y, z, shared memory, stream, parameters, extra)
void Cuda::launch_function(Machine& machine, const Arguments& arguments) {
  const Shape launched{.grid = {arguments.word32(1), arguments.word32(2), arguments.word32(3)},
                       .block = {arguments.word32(4), arguments.word32(5), arguments.word32(6)}};
  const Word stream = arguments.word(8), parameters = arguments.word(9);
  if (const llvm::Function* stub = kernel_handles_.stub(arguments.word(0)))
    return launch_kernel(machine, *stub, launched, parameters, stream, false);
  std::vector<ordering::PointerArgument> pointers;
  const std::size_t count = parameters == 0 ? 0 : machine.rest_of_variable(parameters) / sizeof(Word);
  for (std::size_t i = 0; i < count; ++i) {
    const Word at = load_word(parameters + i * sizeof(Word));
    if (!machine.memory().contains(at, sizeof(Word))) break;
    const Word value = load_word(at);
    if (Memory::is_device(value))
      pointers.push_back(
          {.address = value, .mode = ordering::AccessMode::Unknown, .early = false, .reach = 0, .parted = false});
  }
  const ordering::LaunchShape shape{.function = number_of("function " + std::to_string(arguments.word(0))),
                                    .threads = launched.threads(),
                                    .arguments_hash = 0};
  submit(stream, now(machine, "a kernel"), shape, std::move(pointers), {});
}

bool Cuda::launch(Machine& machine, HostCall what, const Arguments& arguments) {
  switch (what) {
    case HostCall::PushConfiguration:
      push_configuration(machine, arguments);
      return true;
    case HostCall::PopConfiguration:
      pop_configuration(machine, arguments);
      return true;
    case HostCall::LaunchStub:
      launch_plain(machine, arguments);
      return true;
    case HostCall::LaunchConfigured:
      launch_configured(machine, arguments);
      return true;
    case HostCall::LaunchHandle:
      launch_function(machine, arguments);
      return true;
    default:
      return what == HostCall::Registration;
  }
}

Word Cuda::work_area(Machine& machine, Word handle) {
  const auto [known, fresh] = work_areas_.try_emplace(handle);
  if (fresh) {
    constexpr std::size_t kSize = 256;
    known->second = machine.memory().device(kSize);
    model_.allocate(now(machine, "the work area of a plan"), {known->second, known->second + kSize},
                    ordering::MemoryKind::Device, context_of(device_));
  }
  return known->second;
}

void Cuda::library_work(Machine& machine, const llvm::Function& function, const Model& model,
                        const Arguments& arguments) {
  Word handle = 0;
  const clang::FunctionDecl* called = declared(function);
  const std::vector<interpreter::Parameter> parameters =
      called == nullptr ? std::vector<interpreter::Parameter>()
                        : interpreter::parameters_of(*called, function, symbols_.context());
  // Without a declaration: of C.
  const auto begin_of = [&](std::size_t parameter) {
    if (called == nullptr) return parameter + (function.hasStructRetAttr() ? 1 : 0);
    return parameter < parameters.size() ? parameters[parameter].first : arguments.size();
  };
  bool has_policy = false;
  if (model.after_policy && called != nullptr && called->getNumParams() > 0) {
    const std::string type = called->getParamDecl(0)->getType().getCanonicalType().getAsString();
    has_policy = type.find("policy") != std::string::npos || type.find("execute_on_stream") != std::string::npos ||
                 type.find("par_") != std::string::npos;
    const Word policy = arguments.word(begin_of(0));
    if (has_policy && type.find("on_stream") != std::string::npos && machine.memory().contains(policy, 8))
      std::memcpy(&handle, reinterpret_cast<const void*>(policy), sizeof handle);
  }
  const auto argument = [&](int position) {
    if (position < 0) return Word{0};
    return arguments.word(begin_of(static_cast<std::size_t>(position) + (has_policy ? 1 : 0)));
  };
  if (model.null_argument >= 0 && argument(model.null_argument) == 0) {  // it only asks for a size
    machine.store(argument(model.null_argument + 1), 1024);
    return;
  }
  if (model.stream_from == StreamFrom::Argument) {
    handle = argument(model.effect.stream >= 0 ? model.effect.stream : model.stream_argument);
  } else if (model.stream_from == StreamFrom::Typed) {
    for (unsigned i = 0; i < parameters.size(); ++i)
      if (symbols_.kind(called->getParamDecl(i)->getType()) == ir::TypeKind::Stream)
        handle = arguments.word(begin_of(i));
  } else if (model.stream_from == StreamFrom::Handle) {
    const Word of = argument(model.handle_argument);
    const auto known = handle_streams_.find(of);
    if (known == handle_streams_.end() && given_as(of)) return;  // its caller has set its stream
    if (known != handle_streams_.end()) handle = known->second;
  }
  std::vector<ordering::PointerArgument> pointers;
  std::vector<ordering::KernelBytes> bytes;
  for (const Role& role : model.roles) {
    if (role.argument < 0 || role.host) continue;
    const Word address = argument(role.argument);
    if (!Memory::is_device(address)) continue;
    const AccessMode mode = mode_of(role.mode);
    pointers.push_back({.address = address, .mode = mode, .early = false, .reach = 0, .parted = false});
    // Library functions begin at the pointers that they get.
    if (mode != AccessMode::Unknown)
      bytes.push_back({.bytes = linear(address, 1), .mode = mode, .widened = false, .early = false});
  }
  for (const PointerTable& table : model.tables) {
    const Word count = std::min<Word>(argument(table.count_argument) & 0xffffffffU, 64);
    for (Word i = 0; i < count; ++i)
      if (const auto known = pointer_at(machine, argument(table.argument) + i * sizeof(Word)))
        bytes.push_back({.bytes = linear(*known, 1), .mode = mode_of(table.mode), .widened = false, .early = false});
  }
  if (model.handle_argument >= 0 && (model.uses_work_area || work_areas_.contains(argument(model.handle_argument))))
    bytes.push_back({.bytes = linear(work_area(machine, argument(model.handle_argument)), 1),
                     .mode = AccessMode::Write,
                     .widened = false,
                     .early = false});
  const ordering::LaunchShape shape{.function = number_of(model.name), .threads = 1024, .arguments_hash = 0};
  const ordering::Call call = now(machine, model.name);
  submit(handle, call, shape, std::move(pointers), std::move(bytes));
  if (model.effect.form == api::CallForm::Synchronous && !capturing_.contains(handle)) {
    model_.sync_stream(call, stream(handle));
    finish();
  }
}

bool Cuda::takes(const llvm::Function& function) {
  const clang::FunctionDecl* called = declared(function);
  if (called == nullptr || !symbols_.in_system_header(*called)) return false;
  const Model* model = symbols_.known(*called).model;
  if (model == nullptr || model->action != ActionKind::LibraryWork) return false;
  taken_[&function] = model;
  return true;
}

}  // namespace streamsan::analyzer::interpreter
