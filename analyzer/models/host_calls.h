// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function of CUDA's host API does beside ordering work: it launches by certain arguments, answers a question
// about devices, reserves addresses. A program that is followed step by step needs that (interpreter/); the passes over
// the syntax tree need some of it. The models (model.h) say what the same functions order.
//
// HOW TO ADD A FUNCTION: its name in host_calls.def; a new HostCall only if nothing there does the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace streamsan::analyzer {

enum class HostCall : std::uint8_t {
  None,
#define SS_HOST_CALL(what_, ...) what_,
#include "analyzer/models/host_calls.def"
#undef SS_HOST_CALL
};

/// By the name that the function is linked under, or that its model has. None: nothing that the table knows.
HostCall host_call(std::string_view name);

/// Is it named like a function of the run-time library, the driver or HIP?
bool is_cuda_name(std::string_view name);

/// A function of a library that passes messages between processes, by its name.
enum class MessageCall : std::uint8_t {
  None,
  Mpi,
  MpiRank,   ///< asks which of the processes this is
  MpiRanks,  ///< asks how many there are
  Ucx,
};
MessageCall message_call(std::string_view name);

/// Is it named like a function that makes another device the current one (cudaSetDevice, a program's own SetDevice)?
bool chooses_device(std::string_view function);
/// Is it named like a class whose objects do that (CUDAGuard)?
bool guards_device(std::string_view record);

}  // namespace streamsan::analyzer
