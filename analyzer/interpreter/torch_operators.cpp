// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of ATen: at::_ops::NAME::call(...), which the headers declare with their schema (torch_schema.h).
//
// WHERE. Work on tensors of the device goes to the current stream of that device; the host does work on its own tensors
// at once. An operator that takes both runs on the device, and the host reads its own tensors first.
//
// WAITING. The host waits for copies between host and device, unless an argument says not to; and for operators that
// are marked so in the catalogue of models (models/frameworks.def), because their result, or its size, is for the host.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/torch.h"
#include "analyzer/interpreter/torch_call.h"
#include "analyzer/interpreter/torch_text.h"
#include "analyzer/interpreter/values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

using ordering::AccessMode;
using Type = Schema::Type;

Torch::Tensor Torch::make(Machine& machine, const std::string& name, Shape shape, int type, bool on_device,
                          signed char device, bool pinned) {
  Tensor result;
  result.shape = std::move(shape);
  result.type = type;
  result.on_device = on_device;
  result.device = on_device ? device : static_cast<signed char>(-1);
  result.bytes = static_cast<Word>(result.shape.count() * size_of_type(type));
  const Word room = std::max<Word>(result.bytes, 1);
  if (on_device) {
    result.data = cuda_.take_block(machine, name, current_stream(machine, device), room);
  } else if (pinned) {
    result.data = cuda_.take_block(machine, name, std::nullopt, room);
  } else {
    result.data = reinterpret_cast<Word>(machine.memory().heap(room, 64));
    pageable_[result.data] = room;
  }
  if (result.data == 0) machine.stop("no memory");
  return result;
}

/// The bytes of a tensor whose values the program may read.
constexpr Word kMostThatMatter = 4096;

void Torch::move(Machine& machine, const std::string& name, const Tensor& to, const Tensor& from, bool waits) {
  cuda_.keep_lent(to.data);
  if (!to.on_device && !from.on_device) {
    const auto bytes = static_cast<Word>(from.shape.count() * size_of_type(from.type));
    const Word size = std::min<Word>(bytes, static_cast<Word>(to.shape.count() * size_of_type(to.type)));
    if (to.shape.is_contiguous() && from.shape.is_contiguous())
      machine.copy(begin(to), begin(from), size, kMostThatMatter);
    return;
  }
  const Word stream = current_stream(machine, from.on_device ? from.device : to.device);
  if (to.on_device && from.on_device) {
    cuda_.work(
        machine, name, stream,
        {{.bytes = footprint(from), .mode = AccessMode::Read}, {.bytes = footprint(to), .mode = AccessMode::Write}});
    return;
  }
  ordering::Footprint destination = footprint(to), source = footprint(from);
  // If they differ in type or shape, PyTorch copies by way of a temporary tensor.
  const auto bytes = [](const ordering::Footprint& of) { return of.width * of.rows; };
  if (bytes(destination) != bytes(source) || destination.rows != source.rows) {
    destination = linear(destination.base, std::min(destination.width, source.width));
    source = linear(source.base, destination.width);
  }
  cuda_.copy(machine, name, stream, destination, source);
  if (waits)
    cuda_.wait_for(machine, name, stream);
  else
    cuda_.use_block(stream, to.on_device ? from.data : to.data);  // the allocator of pinned memory learns of it
}

/// Operators other than copies: one kernel reads the arguments, and writes marked arguments and new tensors.
void Torch::work(Machine& machine, Call& call, const std::vector<Tensor>& fresh) {
  std::vector<ordering::KernelBytes> bytes;
  std::optional<signed char> device;
  const auto touches = [&](const Tensor& tensor, bool writes) {
    if (tensor.shape.count() == 0) return;
    if (writes) cuda_.keep_lent(tensor.data);
    if (tensor.on_device) {
      if (!device) device = tensor.device;
      bytes.push_back({.bytes = footprint(tensor), .mode = writes ? AccessMode::Write : AccessMode::Read});
    } else if (tensor.shape.is_contiguous()) {
      const auto size = static_cast<std::size_t>(tensor.shape.count() * size_of_type(tensor.type));
      static_cast<void>(writes ? machine.writes(begin(tensor), size) : machine.reads(begin(tensor), size));
    }
  };
  call.for_tensors([&](const Tensor& tensor, const Schema::Argument& argument) { touches(tensor, argument.written); });
  for (const Tensor& tensor : fresh) touches(tensor, true);
  if (!device) return;
  const Word stream = current_stream(machine, *device);
  cuda_.work(machine, call.name, stream, bytes);
  Callee callee;
  callee.name = call.schema.name;
  callee.in_system_header = true;
  callee.arguments = static_cast<unsigned>(call.values.size());
  for (const char* within : {"at::Tensor", "at"}) {
    callee.class_name = std::string_view(within) == "at" ? "" : within;
    callee.qualified = std::string(within) + "::" + callee.name;
    const Model* model = symbols_.models().find(callee);
    if (model == nullptr || model->effect.form != api::CallForm::Synchronous) continue;
    cuda_.wait_for(machine, call.name, stream);
    break;
  }
}

/// Returns one tensor, a list of tensors, or a tuple; the text makes the objects.
Outcome Torch::answer_tensors(Machine& machine, Call& call, const std::vector<Tensor>& tensors) {
  const Word where = call.arguments.word(0);
  const clang::QualType type = call.known.declared->getReturnType();
  const bool is_list = call.schema.results.size() == 1 && call.schema.results[0].type == Type::Tensors;
  if (!call.known.function->hasStructRetAttr()) return Outcome::Stop;
  std::vector<Word> described;
  for (const Tensor& each : tensors) {
    Tensor one = each;
    described.push_back(describe(machine, one));
  }
  const llvm::Function* put = machine.module().getFunction(is_list ? kTorchPutList : kTorchPut);
  if (put == nullptr ||
      (!is_list && tensors.size() > 1 &&
       symbols_.context().getTypeSizeInChars(type).getQuantity() != static_cast<long>(tensors.size() * sizeof(Word)))) {
    machine.stop("results that are not known of " + call.name);
    return Outcome::Stop;
  }
  const Word function = machine.image().address_of(*put);
  if (is_list) {
    Byte* const list = machine.memory().heap(std::max<std::size_t>(described.size(), 1) * sizeof(Word));
    if (list == nullptr) return Outcome::Stop;
    std::memcpy(list, described.data(), described.size() * sizeof(Word));
    const Word given[] = {where, reinterpret_cast<Word>(list), described.size()};
    return machine.call_next(function, given) ? Outcome::Done : Outcome::Stop;
  }
  // The last element of a tuple comes first.
  for (std::size_t i = 0; i < described.size(); ++i) {
    const Word given[] = {where + (described.size() - 1 - i) * sizeof(Word), described[i]};
    if (!machine.call_next(function, given)) return Outcome::Stop;
  }
  return Outcome::Done;
}

/// Results other than new tensors: arguments, numbers.
Outcome Torch::answer(Machine& machine, Call& call) {
  const clang::QualType type = call.known.declared->getReturnType();
  if (type->isVoidType()) return Outcome::Done;
  const auto again = [&](const Schema::Argument& one) {
    const auto argument = call.schema.marked(one.mark);
    return argument ? call.arguments.word(call.known.parameters[*argument].first) : 0;
  };
  if (type->isReferenceType()) {
    const Word object = call.schema.results.empty() ? 0 : again(call.schema.results[0]);
    give(call.result, object);
    return object == 0 ? Outcome::Stop : Outcome::Done;
  }
  if (!type->isRecordType()) return Outcome::Done;  // 0
  const auto size = static_cast<std::size_t>(symbols_.context().getTypeSizeInChars(type).getQuantity());
  const bool in_memory = call.known.function->hasStructRetAttr();
  if (in_memory && !machine.writes(call.arguments.word(0), size)) return Outcome::Stop;
  Byte* const to = in_memory ? reinterpret_cast<Byte*>(call.arguments.word(0)) : call.result;
  if (to == nullptr) return Outcome::Done;
  std::memset(to, 0, size);
  // References, the last of them first.
  const std::size_t count = call.schema.results.size();
  if (count > 1 && size == count * sizeof(Word))
    for (std::size_t i = 0; i < count; ++i) {
      const Word object = again(call.schema.results[i]);
      std::memcpy(to + (count - 1 - i) * sizeof(Word), &object, sizeof object);
    }
  return Outcome::Done;
}

/// copy_(self, src, non_blocking)
Outcome Torch::copy_over(Machine& machine, Call& call) {
  move(machine, call.name, *call.tensors[0], *call.tensors[1], !call.flag("non_blocking"));
  return answer(machine, call);
}

/// to(), pin_memory(): returns self, or a copy on another device or of another type.
Outcome Torch::convert(Machine& machine, Call& call) {
  const Tensor from = *call.tensors[0];
  int type = static_cast<int>(call.integer("dtype").value_or(from.type));
  bool on_device = from.on_device;
  signed char device = from.device;
  const bool pins = call.schema.name == "pin_memory" || call.schema.name == "_pin_memory";
  const bool pinned = pins || call.flag("pin_memory");
  if (const auto other = call.schema.argument("other"); other && call.tensors[*other] != nullptr) {
    on_device = call.tensors[*other]->on_device;
    device = call.tensors[*other]->device;
    type = call.tensors[*other]->type;
  }
  if (const auto given = call.place(from.on_device ? from.device : static_cast<signed char>(cuda_.device(machine)));
      given && !pins)
    std::tie(on_device, device) = *given;
  if (pins && from.on_device) {  // only the host's can be
    asked_ = Asked::Where;
    asked_of_ = call.word(0);
    return check_failed(machine, call.known, call.arguments, call.result);
  }
  // A program that asks for a copy without waiting has a host tensor.
  if (from.on_device && on_device && call.flag("non_blocking") && suppose_on_host(machine, from)) return Outcome::Stop;
  const bool is_so = type == from.type && on_device == from.on_device && device == from.device &&
                     (!pinned || machine.memory().is_pinned(from.data));
  if (is_so && !call.flag("copy")) return answer_tensors(machine, call, {from});
  const bool waits = !call.flag("non_blocking");
  // to(kCPU, non_blocking) allocates a pinned tensor.
  const bool to_pinned = pinned || (!on_device && from.on_device && !waits);
  const Tensor made = make(machine, call.name, contiguous(from.shape.sizes), type, on_device, device, to_pinned);
  move(machine, call.name, made, from, waits);
  return answer_tensors(machine, call, {made});
}

/// Gives the tensor another block: that of another tensor, or a new one if it grows.
Outcome Torch::become(Machine& machine, Word object, Tensor by) {
  const llvm::Function* replaces = machine.module().getFunction(kTorchReplace);
  const auto known = tensors_.find(load_word(object));
  if (replaces == nullptr || known == tensors_.end()) {
    machine.stop("a tensor that is not known");
    return Outcome::Stop;
  }
  by.guess = known->second.guess;
  const Word given[] = {object, describe(machine, by)};
  return machine.call_next(machine.image().address_of(*replaces), given) ? Outcome::Done : Outcome::Stop;
}

/// set_data(self, new_data), set_(self[, source]), resize_(self, size)
Outcome Torch::replace(Machine& machine, Call& call) {
  if (call.tensors[0] == nullptr) return Outcome::Stop;
  const Tensor self = *call.tensors[0];
  const Word object = call.arguments.word(call.known.parameters[0].first);
  Tensor by = self;
  if (const auto size = call.integers(machine, "size"); call.schema.name == "resize_" && size) {
    by.shape = contiguous(*size);
    by.shape.offset = self.shape.offset;
    const auto bytes = static_cast<Word>((by.shape.count() + by.shape.offset) * size_of_type(self.type));
    if (bytes > self.bytes) {
      by = make(machine, call.name, by.shape, self.type, self.on_device, self.device);
      by.shape.offset = 0;
      if (self.shape.count() > 0) move(machine, call.name, by, self, false);
    }
  } else if (call.schema.arguments.size() == 1) {
    by = make(machine, call.name, contiguous({0}), self.type, self.on_device, self.device);
  } else if (call.schema.arguments.size() == 2 && call.tensors[1] != nullptr) {
    by = *call.tensors[1];
  } else {
    machine.stop("a storage that is not known, of " + call.name);
  }
  if (!machine.stopped().empty() || become(machine, object, std::move(by)) == Outcome::Stop) return Outcome::Stop;
  return answer(machine, call);
}

bool Torch::take_argument(Machine& machine, Call& call, std::size_t i) {
  std::vector<Byte> bytes = bytes_of(machine, call.arguments, call.known.parameters[i]);
  // References.
  const clang::QualType type = call.known.declared->getParamDecl(static_cast<unsigned>(i))->getType();
  if (type->isReferenceType()) {
    const Parameter& parameter = call.known.parameters[i];
    const Word object = parameter.how == Parameter::How::Words ? call.arguments.word(parameter.first) : 0;
    const auto size =
        static_cast<std::size_t>(symbols_.context().getTypeSizeInChars(type.getNonReferenceType()).getQuantity());
    if (!machine.memory().contains(object, size)) {
      machine.stop("an argument that is nowhere, of " + call.name);
      return false;
    }
    bytes.assign(reinterpret_cast<const Byte*>(object), reinterpret_cast<const Byte*>(object) + size);
  }
  const auto word = [&](std::size_t offset) {
    Word value = 0;
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  Tensor* one = nullptr;
  std::vector<Tensor*> several;
  switch (call.schema.arguments[i].type) {
    case Type::Tensor:
    case Type::OptionalTensor: {
      const auto found = tensors_.find(word(0));
      const bool absent = call.schema.arguments[i].type == Type::OptionalTensor;
      if (found != tensors_.end() && (!absent || (bytes.size() > 8 && bytes[8] != 0))) {
        one = &found->second;
      } else if (!absent) {
        machine.stop("a tensor that is not known, of " + call.name);
        return false;
      }
      break;
    }
    case Type::Tensors: {
      constexpr Word kMost = 4096;
      // An ITensorListRef has a tag behind the list: 0, that it is one.
      if (bytes.size() > 16 && (word(16) & 0xffffffff) != 0) break;
      const Word from = word(0), count = std::min(word(8), kMost);
      call.lists_none |= count == 0;
      if (!machine.memory().contains(from, count * sizeof(Word))) break;
      for (Word each = 0; each < count; ++each)
        if (Tensor* const known_one = tensor(machine, from + each * sizeof(Word))) several.push_back(known_one);
      break;
    }
    default:
      break;
  }
  call.values.push_back(std::move(bytes));
  call.tensors.push_back(one);
  call.listed.push_back(std::move(several));
  return true;
}

std::optional<Outcome> Torch::parts_of_one(Machine& machine, Call& call, const Given& given) {
  const Schema& schema = call.schema;
  const std::string& name = schema.name;
  if (schema.results[0].mark == 0 || schema.results[0].written) return std::nullopt;
  const auto shared = schema.marked(schema.results[0].mark);
  if (!shared || call.tensors[*shared] == nullptr) return std::nullopt;
  const Tensor& of = *call.tensors[*shared];
  const auto with = [&](Shape shape) {
    Tensor part = of;
    part.placed_as = of.where();
    if (shape.sizes != of.shape.sizes) part.guess.reset();
    part.shape = std::move(shape);
    if (const auto other = call.integer("dtype"); other && name == "view") part.type = static_cast<int>(*other);
    return part;
  };
  if (schema.results[0].type == Type::Tensors) {
    std::vector<Tensor> parts;
    for (Shape& shape : parts_of(schema, given, of.shape)) parts.push_back(with(std::move(shape)));
    return answer_tensors(machine, call, parts);
  }
  if (name == "contiguous" && !of.shape.is_contiguous()) {
    const Tensor made = make(machine, call.name, contiguous(of.shape.sizes), of.type, of.on_device, of.device);
    work(machine, call, {made});
    return answer_tensors(machine, call, {made});
  }
  if (auto shape = view_of(schema, given, of.shape)) return answer_tensors(machine, call, {with(std::move(*shape))});
  if (name == "reshape" || name == "flatten" || name == "reshape_as") return std::nullopt;
  return answer_tensors(machine, call, {with(of.shape)});
}

std::vector<Torch::Tensor> Torch::results_of(Machine& machine, Call& call, const Given& given) {
  const Schema& schema = call.schema;
  const std::string& name = schema.name;
  const auto here = static_cast<signed char>(cuda_.device(machine));
  bool on_device = false, any = false;
  signed char device = here;
  int type = 6;
  std::optional<Word> as;
  call.for_tensors([&](const Tensor& tensor, const Schema::Argument&) {
    if (!any || (tensor.on_device && !on_device)) {
      type = tensor.type;
      on_device = tensor.on_device;
      if (on_device) device = tensor.device;
      as = tensor.where();
    }
    any = true;
  });
  if (const auto said = call.place(here)) {
    std::tie(on_device, device) = *said;
    as.reset();
  }
  if (!any && (name == "arange" || name == "randperm" || name == "randint")) type = 4;
  if (name.starts_with("arg") || name == "nonzero" || name == "bincount" || name == "searchsorted") type = 4;
  for (const char* compares : {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isnan",
                               "isfinite", "isinf", "all", "any"})
    if (name == compares) type = 11;
  type = static_cast<int>(call.integer("dtype").value_or(type));
  const Shape shape = contiguous(sizes_of_new(schema, given));
  std::vector<Tensor> fresh;
  for (std::size_t i = 0; i < schema.results.size(); ++i)
    fresh.push_back(make(machine, call.name, shape,
                         i == 1 && (name == "topk" || name == "sort" || name == "max" || name == "min") ? 4 : type,
                         on_device, device, call.flag("pin_memory")));
  for (Tensor& each : fresh) each.placed_as = as;
  return fresh;
}

/// Operators with other effects than making tensors from tensors. nullopt: it is not one of them.
std::optional<Outcome> Torch::known_operator(Machine& machine, Call& call) {
  const std::string& name = call.schema.name;
  if (name == "record_stream" && call.tensors[0] != nullptr) {
    cuda_.use_block(call.word(1, 8), call.tensors[0]->data);
    return Outcome::Done;
  }
  if (name == "is_pinned" && call.tensors[0] != nullptr) {
    if (call.tensors[0]->where()) {
      asked_ = Asked::Where;
      asked_of_ = call.word(0);
    }
    if (call.result != nullptr) *call.result = machine.memory().is_pinned(call.tensors[0]->data) ? 1 : 0;
    return Outcome::Done;
  }
  if (name == "copy_") return copy_over(machine, call);
  if (call.lists_none && (name == "cat" || name == "stack")) return none_listed(machine, call);
  if (name == "set_data" || name == "set_" || name == "resize_") return replace(machine, call);
  if (name == "to" || name == "_to_copy" || name == "pin_memory" || name == "_pin_memory")
    return convert(machine, call);
  return std::nullopt;
}

Outcome Torch::operate(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  Call call{.known = known, .schema = *known.schema, .arguments = arguments, .result = result};
  const Schema& schema = call.schema;
  call.name = "at::" + schema.name;
  static_cast<void>(cuda_.device(machine));
  for (std::size_t i = 0; i < schema.arguments.size(); ++i)
    if (!take_argument(machine, call, i)) return Outcome::Stop;
  if (const auto done = known_operator(machine, call)) return *done;
  const Given given = call.given(machine);
  const bool returns_tensors = !schema.results.empty() && known.function->hasStructRetAttr() &&
                               (schema.results[0].type == Type::Tensor || schema.results[0].type == Type::Tensors);
  if (returns_tensors)
    if (const auto done = parts_of_one(machine, call, given)) return *done;
  std::vector<Tensor> fresh;
  if (returns_tensors && schema.results[0].type == Type::Tensor) {
    fresh = results_of(machine, call, given);
  } else if (returns_tensors) {
    call.for_tensors([&](const Tensor& tensor, const Schema::Argument&) {
      if (fresh.size() < 256)
        fresh.push_back(
            make(machine, call.name, contiguous(tensor.shape.sizes), tensor.type, tensor.on_device, tensor.device));
    });
  }
  if (!machine.stopped().empty()) return Outcome::Stop;
  const std::string& name = schema.name;
  const bool only_memory =
      name.starts_with("empty") || name.starts_with("new_empty") || name == "resize_" || name == "set_";
  if (!only_memory) work(machine, call, fresh);
  return returns_tensors ? answer_tensors(machine, call, fresh) : answer(machine, call);
}

/// item(), index(), index_put_(), and the function that contiguous() calls for other tensors.
Outcome Torch::without_schema(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* found = self(machine, known, arguments);
  if (found == nullptr) return Outcome::Stop;
  const Tensor of = *found;
  static_cast<void>(cuda_.device(machine));
  const llvm::StringRef name = known.declared->getName();
  const bool writes = name == "index_put_";
  Schema schema{.name = name.ltrim("_").str(), .arguments = {}, .results = {}};
  schema.arguments.push_back({.type = Type::Tensor, .written = writes, .name = "self"});
  schema.results.push_back({.type = Type::Tensor});
  Tensor self_again = of;
  Call call{.known = known, .schema = schema, .arguments = arguments, .result = result, .name = "at::" + schema.name};
  call.values.resize(1);
  call.tensors = {&self_again};
  call.listed.resize(1);
  std::vector<Tensor> fresh;
  const bool makes = name == "index" || name == "__dispatch_contiguous";
  if (makes) fresh.push_back(make(machine, call.name, contiguous(of.shape.sizes), of.type, of.on_device, of.device));
  work(machine, call, fresh);
  // The host counts a mask of bools, but not numbers.
  if (of.on_device && name != "__dispatch_contiguous")
    cuda_.wait_for(machine, call.name, current_stream(machine, of.device));
  if (makes) return answer_tensors(machine, call, fresh);
  if (writes && result != nullptr) {
    const Word object = arguments.word(0);
    std::memcpy(result, &object, sizeof object);
  }
  if (name == "item" && known.function->hasStructRetAttr() && machine.writes(arguments.word(0), 32))
    std::memset(reinterpret_cast<void*>(arguments.word(0)), 0, 32);  // a c10::Scalar
  return Outcome::Done;
}

}  // namespace streamsan::analyzer::interpreter
