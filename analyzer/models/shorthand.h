// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that the .def files of libraries, frameworks and the C library are written in. Included by their sources only.
#pragma once

#include "analyzer/models/catalog.h"

namespace streamsan::analyzer::shorthand {

using namespace api;
using ActionKind::Communication;
using ActionKind::Complete;
using ActionKind::Container;
using ActionKind::GetCurrent;
using ActionKind::GroupBegin;
using ActionKind::GroupEnd;
using ActionKind::HostTouch;
using ActionKind::KeepAlive;
using ActionKind::LibraryWork;
using ActionKind::MakeCurrent;
using ActionKind::MayThrowAway;
using ActionKind::Nothing;
using ActionKind::Post;
using ActionKind::SetDevice;
using ActionKind::SetHandleStream;
using ActionKind::SwapCaptureMode;
using ActionKind::SyncObject;
using ActionKind::TensorCopy;
using ActionKind::TensorMake;
using ActionKind::TensorWork;
using ActionKind::Wrapper;
using ordering::MemoryKind;
using ordering::StreamKind;

constexpr Role reads(int argument, int bytes = -1) {
  return {.argument = argument, .mode = ir::Mode::Read, .bytes_argument = bytes};
}
constexpr Role writes(int argument, int bytes = -1) {
  return {.argument = argument, .mode = ir::Mode::Write, .bytes_argument = bytes};
}
constexpr Role updates(int argument, int bytes = -1) {
  return {.argument = argument, .mode = ir::Mode::ReadWrite, .bytes_argument = bytes};
}
/// The call reads behind each pointer in a table.
constexpr PointerTable reads_each(int argument, int count) {
  return {.argument = argument, .mode = ir::Mode::Read, .count_argument = count};
}
constexpr PointerTable updates_each(int argument, int count) {
  return {.argument = argument, .mode = ir::Mode::ReadWrite, .count_argument = count};
}
constexpr Role touches(int argument) { return {.argument = argument}; }
/// Which memory is meant, without an access: KeepAlive, MayThrowAway.
constexpr Role names(int argument) { return touches(argument); }
/// This argument and all behind it: what their types say.
constexpr Role by_type(int first) { return {.argument = first, .to_end = true, .by_type = true}; }
constexpr Role reads_all(int first) { return {.argument = first, .mode = ir::Mode::Read, .to_end = true}; }

/// The form of work that the host has waited for at its return.
inline constexpr Effect kWaits{.form = CallForm::Synchronous};

/// The role, of memory that is certainly host memory.
constexpr Role host(Role role) {
  role.host = true;
  return role;
}

}  // namespace streamsan::analyzer::shorthand
