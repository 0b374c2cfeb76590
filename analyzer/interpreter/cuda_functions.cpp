// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that are launched by a CUfunction, as the driver's interface does.
//
// A function handle is asked for by a kernel's address (cudaGetFuncBySymbol) or by its name in a module. A kernel with that
// address, or with that name and C linkage, that stands in the translation unit is launched as by <<<>>>. Of any other one
// not even the parameters are known: each entry of the list of arguments is taken for a word, which counts if it lies in
// device memory, and what the kernel does there is not known. How long the list is shows where it is a local array; else
// the kernel touches nothing that is known.
#include <cstring>
#include <unordered_map>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/values.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

/// kernel handle -> the host's stub; the handle goes to `out`.
void Cuda::name_function(Machine& machine, Word out, const llvm::Function* stub) {
  const Word handle = reinterpret_cast<Word>(machine.memory().heap(64));
  function_handles_[handle] = stub;
  static_cast<void>(put(machine, out, handle));
}

void Cuda::function_of_symbol(Machine& machine, const Arguments& arguments) {
  name_function(machine, arguments.word(0), machine.image().function_at(arguments.word(1)));
}

void Cuda::function_of_name(Machine& machine, const Arguments& arguments) {
  constexpr std::size_t kLongest = 256;
  std::string stub = "__device_stub__";
  for (Word at = arguments.word(2); stub.size() < kLongest && machine.memory().contains(at, 1); ++at) {
    const char letter = *reinterpret_cast<const char*>(at);
    if (letter == '\0') break;
    stub += letter;
  }
  name_function(machine, arguments.word(0), machine.module().getFunction(stub));
}

/// A CUkernel's CUfunction.
void Cuda::function_of_function(Machine& machine, const Arguments& arguments) {
  static_cast<void>(put(machine, arguments.word(0), arguments.word(1)));
}

/// (function, grid x, y, z, block x, y, z, shared memory, stream, parameters, extra)
void Cuda::launch_function(Machine& machine, const Arguments& arguments) {
  std::uint64_t threads = 1;
  for (std::size_t i = 1; i <= 6; ++i) threads *= arguments.word32(i);
  const Word stream = arguments.word(8), parameters = arguments.word(9);
  const auto known = function_handles_.find(arguments.word(0));
  if (known != function_handles_.end() && known->second != nullptr)
    return launch_kernel(machine, *known->second, threads, parameters, stream, false);
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
  const ordering::LaunchShape shape{
      .function = number_of("function " + std::to_string(arguments.word(0))), .threads = threads, .arguments_hash = 0};
  enqueue(stream, now(machine, "a kernel"), [this, shape, pointers](ordering::Call here, ordering::StreamId in) {
    model_.launch(here, in, shape, pointers, {});
  });
}

bool Cuda::function_handle(Machine& machine, std::string_view name, const Arguments& arguments) {
  using Step = void (Cuda::*)(Machine&, const Arguments&);
  static const std::unordered_map<std::string_view, Step> kSteps = {
      {"cudaGetFuncBySymbol", &Cuda::function_of_symbol},  {"cudaGetKernel", &Cuda::function_of_symbol},
      {"cuModuleGetFunction", &Cuda::function_of_name},    {"cuLibraryGetKernel", &Cuda::function_of_name},
      {"cuKernelGetFunction", &Cuda::function_of_function}, {"cuLaunchKernel", &Cuda::launch_function},
      {"cuLaunchCooperativeKernel", &Cuda::launch_function},
  };
  const auto step = kSteps.find(name);
  if (step == kSteps.end()) return false;
  (this->*step->second)(machine, arguments);
  return true;
}

}  // namespace streamsan::analyzer::interpreter
