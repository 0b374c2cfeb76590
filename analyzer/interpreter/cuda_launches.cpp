// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels, and calls of libraries that launch kernels of their own.
//
// What a kernel does with its arguments is found in its body (kernel_effects.h). Where it begins at its pointer for
// certain, its first byte is known to be touched. Where it may begin further on, by a number among its arguments, it
// may be another part than that of another kernel, and nothing is certain.
#include <cstring>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/module.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Basic/SourceManager.h"
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
         : mode == ir::Mode::Unknown ? AccessMode::Unknown
                                     : AccessMode::Write;
}

}  // namespace

void Cuda::launch_kernel(Machine& machine, const llvm::Function& stub, std::uint64_t threads, Word parameters,
                         Word handle, bool overlaps) {
  const auto* kernel = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(stub.getName().str()));
  if (threads == 0) return;
  std::vector<ordering::PointerArgument> pointers;
  std::vector<ordering::KernelBytes> bytes;
  std::uint64_t hash = 0;
  std::string name = "a kernel";
  if (kernel != nullptr) {
    name = "kernel '" + kernel->getNameAsString() + "'";
    const std::vector<ParameterEffect>& effects = kernels_.of(*kernel);
    // A number that says where the work ends, and is 0 here, may be what the GPU has computed.
    const std::uint32_t limits = kernels_.limits(*kernel);
    bool is_empty = false;
    for (unsigned i = 0; i < kernel->getNumParams() && i < 32; ++i) {
      Word at = 0, value = 0;
      const auto width = static_cast<std::size_t>(
          context_.getTypeSizeInChars(kernel->getParamDecl(i)->getType().getNonReferenceType()).getQuantity());
      if ((limits >> i & 1U) == 0 || width > sizeof value || !machine.memory().contains(parameters + i * 8, 8))
        continue;
      std::memcpy(&at, reinterpret_cast<const void*>(parameters + i * 8), sizeof at);
      if (!machine.memory().contains(at, width)) continue;
      std::memcpy(&value, reinterpret_cast<const void*>(at), width);
      is_empty = is_empty || value == 0;
    }
    for (unsigned i = 0; i < kernel->getNumParams(); ++i) {
      const clang::QualType type = kernel->getParamDecl(i)->getType().getNonReferenceType();
      const auto size = static_cast<std::size_t>(context_.getTypeSizeInChars(type).getQuantity());
      if (!machine.reads(parameters + i * 8, 8)) return;
      Word at = 0;
      std::memcpy(&at, reinterpret_cast<const void*>(parameters + i * 8), sizeof at);
      if (!machine.reads(at, size)) return;
      for (std::size_t byte = 0; byte < size; ++byte)
        hash = (hash ^ reinterpret_cast<const Byte*>(at)[byte]) * 1099511628211ULL;
      const auto number = [&](unsigned parameter) {
        Word value = 0, place = 0;
        const auto width = static_cast<std::size_t>(
            context_.getTypeSizeInChars(kernel->getParamDecl(parameter)->getType()).getQuantity());
        std::memcpy(&place, reinterpret_cast<const void*>(parameters + parameter * 8), sizeof place);
        if (width <= sizeof value && machine.memory().contains(place, width))
          std::memcpy(&value, reinterpret_cast<const void*>(place), width);
        return value;
      };
      // Somewhere behind the pointer: it may be another part than that of another kernel.
      const auto is_elsewhere = [&](const ir::Part& part) {
        if (is_empty) return true;
        if (part.kind == ir::Part::Kind::Unknown) return true;
        if (part.kind != ir::Part::Kind::From) return false;
        if (part.arguments == 0) return true;
        for (unsigned bit = 0; bit < 32 && bit < kernel->getNumParams(); ++bit)
          if ((part.arguments >> bit & 1U) != 0 && number(bit) != 0) return true;
        return false;
      };
      const auto add = [&](std::size_t offset, const PointerEffect& effect) {
        Word address = 0;
        if (offset + sizeof address > size) return;
        std::memcpy(&address, reinterpret_cast<const Byte*>(at) + offset, sizeof address);
        if (address == 0) return;
        const bool early = effect.before_wait != ir::Certainty::No;
        const AccessMode mode = is_elsewhere(effect.part) ? AccessMode::Doubtful : mode_of(effect);
        pointers.push_back({.address = address, .mode = mode, .early = early, .reach = 0, .parted = false});
        // It begins there, for certain.
        const bool sure = mode == AccessMode::Write || mode == AccessMode::Read || mode == AccessMode::Atomic;
        if (sure && !effect.depends_on_data && effect.part.kind == ir::Part::Kind::Whole)
          bytes.push_back({.bytes = linear(address, 1), .mode = mode, .widened = false, .early = early});
      };
      if (i >= effects.size()) continue;
      if (type->isPointerType()) {
        add(0, effects[i]);
      } else if (const auto* record = type->getAsCXXRecordDecl(); record != nullptr && record->hasDefinition()) {
        for (const auto& [member, effect] : effects[i].by_member) {
          // "field" or "field.field"
          const clang::CXXRecordDecl* in = record;
          std::size_t offset = 0;
          std::string_view path = member;
          bool found = true;
          while (!path.empty() && found) {
            const std::string_view word = path.substr(0, path.find('.'));
            path.remove_prefix(std::min(path.size(), word.size() + 1));
            found = false;
            if (in == nullptr) break;
            const clang::ASTRecordLayout& layout = context_.getASTRecordLayout(in);
            for (const clang::FieldDecl* field : in->fields()) {
              if (field->getNameAsString() != word) continue;
              found = true;
              offset += layout.getFieldOffset(field->getFieldIndex()) / 8;
              in = field->getType()->getAsCXXRecordDecl();
              break;
            }
          }
          if (found) add(offset, effect);
        }
      }
    }
  }
  const auto number =
      functions_.try_emplace(stub.getName().str(), static_cast<std::uint32_t>(functions_.size() + 1)).first->second;
  ordering::LaunchShape shape{.function = ordering::FunctionId{number}, .threads = threads, .arguments_hash = hash};
  const GridBehaviour behaviour = kernel != nullptr ? kernels_.behaviour(*kernel) : GridBehaviour{};
  const auto [front, first] = fronts_.try_emplace(handle, behaviour);
  if (overlaps && kernel != nullptr && !first) {
    shape.dependence = {.overlaps = true,
                        .waits = behaviour.waits != ir::Certainty::No,
                        .front = ordering::Trigger::Unknown,
                        .front_waits_first = front->second.triggers_first == ir::Certainty::No};
  }
  front->second = behaviour;
  const ordering::Call call = now(machine, name);
  enqueue(handle, [this, call, shape, pointers, bytes](ordering::StreamId stream) {
    model_.launch(call, stream, shape, pointers, bytes);
  });
}

bool Cuda::launch(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result) {
  const auto volume = [](Word xy, Word z) { return (xy & 0xffffffff) * (xy >> 32U) * (z & 0xffffffff); };
  if (name == "__cudaPushCallConfiguration") {
    launches_.push_back({.grid = {arguments.word(0), arguments.word32(1)},
                         .block = {arguments.word(2), arguments.word32(3)},
                         .shared = arguments.word(4),
                         .stream = arguments.word(5)});
    return true;
  }
  if (name == "__cudaPopCallConfiguration") {
    if (launches_.empty()) return true;
    const Launch launch = launches_.back();
    launches_.pop_back();
    static_cast<void>(
        put(machine, arguments.word(0), launch.grid[0]) && put(machine, arguments.word(0) + 8, launch.grid[1], 4) &&
        put(machine, arguments.word(1), launch.block[0]) && put(machine, arguments.word(1) + 8, launch.block[1], 4) &&
        put(machine, arguments.word(2), launch.shared) && put(machine, arguments.word(3), launch.stream));
    return true;
  }
  if (name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel") {
    if (const llvm::Function* stub = machine.image().function_at(arguments.word(0)))
      launch_kernel(machine, *stub,
                    volume(arguments.word(1), arguments.word32(2)) * volume(arguments.word(3), arguments.word32(4)),
                    arguments.word(5), arguments.word(7), false);
    return true;
  }
  if (name == "cudaLaunchKernelExC") {
    const Word config = arguments.word(0);
    if (!machine.reads(config, 56)) return true;
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
        return true;
      }
    }
    if (const llvm::Function* stub = machine.image().function_at(arguments.word(1)))
      launch_kernel(machine, *stub, volume(word(0), word(8, 4)) * volume(word(12), word(20, 4)), arguments.word(2),
                    word(32), overlaps);
    return true;
  }
  if (name == "cudaGetParameterBuffer" || name == "__cudaRegisterFunction") return true;
  static_cast<void>(result);
  return false;
}

void Cuda::library_work(Machine& machine, const llvm::Function& function, const Model& model,
                        const Arguments& arguments) {
  Word handle = 0;
  const auto* called = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(function.getName().str()));
  // A result in memory, and the object, come first.
  const int skipped =
      (function.hasStructRetAttr() ? 1 : 0) + (called != nullptr && llvm::isa<clang::CXXMethodDecl>(called) &&
                                                       !llvm::cast<clang::CXXMethodDecl>(called)->isStatic()
                                                   ? 1
                                                   : 0);
  bool has_policy = false;
  if (model.after_policy && called != nullptr && called->getNumParams() > 0) {
    const std::string type = called->getParamDecl(0)->getType().getCanonicalType().getAsString();
    has_policy = type.find("policy") != std::string::npos || type.find("execute_on_stream") != std::string::npos ||
                 type.find("par_") != std::string::npos;
    const Word policy = arguments.word(static_cast<std::size_t>(skipped));
    if (has_policy && type.find("on_stream") != std::string::npos && machine.memory().contains(policy, 8))
      std::memcpy(&handle, reinterpret_cast<const void*>(policy), sizeof handle);
  }
  const auto in_front = static_cast<std::size_t>(skipped) + (has_policy ? 1 : 0);
  const auto argument = [&](int position) {
    return position >= 0 ? arguments.word(static_cast<std::size_t>(position) + in_front) : Word{0};
  };
  if (model.null_argument >= 0 && argument(model.null_argument) == 0) {  // it only asks for a size
    put(machine, argument(model.null_argument + 1), 1024);
    return;
  }
  if (model.stream_from == StreamFrom::Argument) {
    handle = argument(model.effect.stream >= 0 ? model.effect.stream : model.stream_argument);
  } else if (model.stream_from == StreamFrom::Typed) {
    // Counted from the end: what is passed by value in front may be several words.
    const unsigned parameters = called == nullptr ? 0 : called->getNumParams();
    for (unsigned i = 0; i < parameters && parameters - i <= arguments.size(); ++i) {
      const std::string type = called->getParamDecl(i)->getType().getUnqualifiedType().getAsString();
      if (models_.type(type) == ir::TypeKind::Stream) handle = arguments.word(arguments.size() - (parameters - i));
    }
  } else if (model.stream_from == StreamFrom::Handle) {
    const auto known = handle_streams_.find(argument(model.handle_argument));
    if (known != handle_streams_.end()) handle = known->second;
  }
  std::vector<ordering::PointerArgument> pointers;
  for (const Role& role : model.roles) {
    if (role.argument < 0 || role.host) continue;
    const Word address = argument(role.argument);
    if (Memory::is_device(address))
      pointers.push_back({.address = address, .mode = mode_of(role.mode), .early = false, .reach = 0, .parted = false});
  }
  const auto number =
      functions_.try_emplace(model.name, static_cast<std::uint32_t>(functions_.size() + 1)).first->second;
  const ordering::LaunchShape shape{.function = ordering::FunctionId{number}, .threads = 1024, .arguments_hash = 0};
  const ordering::Call call = now(machine, model.name);
  enqueue(handle,
          [this, call, shape, pointers](ordering::StreamId stream) { model_.launch(call, stream, shape, pointers); });
  if (model.effect.form == api::CallForm::Synchronous && !capturing_.contains(handle)) {
    model_.sync_stream(call, stream(handle));
    finish();
  }
}

bool Cuda::takes(const llvm::Function& function) {
  const auto* called = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(function.getName().str()));
  if (called == nullptr || !context_.getSourceManager().isInSystemHeader(called->getLocation())) return false;
  // "cub::DeviceScan::InclusiveSum", without inline namespaces and arguments.
  Callee callee;
  std::vector<std::string> words{called->getNameAsString()};
  for (const clang::DeclContext* around = called->getDeclContext(); around != nullptr; around = around->getParent()) {
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(around)) {
      if (!space->isInline() && !space->isAnonymousNamespace()) words.push_back(space->getNameAsString());
    } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(around)) {
      words.push_back(record->getNameAsString());
      if (callee.class_name.empty()) callee.class_name = record->getNameAsString();
    }
  }
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    callee.qualified += (callee.qualified.empty() ? "" : "::") + *word;
  callee.name = words.front();
  callee.in_system_header = true;
  callee.arguments = called->getNumParams();
  const Model* model = models_.find(callee);
  if (model == nullptr || model->action != ActionKind::LibraryWork) return false;
  taken_[&function] = model;
  return true;
}

}  // namespace streamsan::analyzer::interpreter
