// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collaborators that lower one function, by reference: what each of them takes its own from when it is made. Who
// keeps which is who may call whom; the picture stands in host_lowering.h.
#pragma once

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer::host {

class Algorithms;
class Arguments;
class Assignments;
class CallbackCalls;
class Calls;
class Containers;
class Effects;
class Ends;
class FunctionBuilder;
class Launches;
class Libraries;
class Lifetimes;
class MapKeys;
class Maps;
class Messages;
class ModelledCalls;
class Numbers;
class Optionals;
class Places;
class Pools;
class Sequences;
class StandardLibrary;
class Tasks;
class Tensors;
class Touches;
class Tuples;
class Values;
struct Scan;
struct Unit;

struct Parts {
  Unit& unit;
  const clang::FunctionDecl& definition;
  const Scan& scan;
  FunctionBuilder& out;
  Numbers& numbers;
  Places& places;
  Values& values;
  Assignments& assignments;
  Touches& touches;
  Ends& ends;
  Lifetimes& lifetimes;
  Arguments& arguments;
  Calls& calls;
  StandardLibrary& standard;
  ModelledCalls& modelled;
  Effects& effects;
  Launches& launches;
  Libraries& libraries;
  Messages& messages;
  Containers& containers;
  Tensors& tensors;
  Tuples& tuples;
  Optionals& optionals;
  Maps& maps;
  CallbackCalls& callbacks;
  Pools& pools;
  Sequences& sequences;
  Algorithms& algorithms;
  MapKeys& map_keys;
  Tasks& tasks;
};

}  // namespace streamsan::analyzer::host
