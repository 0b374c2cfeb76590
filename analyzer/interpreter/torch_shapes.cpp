// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes matter if the program asks for them, and if two tensors are parts of one. An operator without a rule here
// returns the common shape of its arguments, like operators that work element by element.
#include "analyzer/interpreter/torch_shapes.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace streamsan::analyzer::interpreter {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 34;

std::int64_t product(const Sizes& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size != 0 && result > kMostElements / size)) return kMostElements;
    result *= size;
  }
  return result;
}

/// The index of a dimension, counted from the front; nullopt: there is no such dimension.
std::optional<std::size_t> dimension(std::int64_t which, std::size_t count) {
  const auto dimensions = static_cast<std::int64_t>(count);
  if (which < 0) which += dimensions;
  return which < 0 || which >= std::max<std::int64_t>(dimensions, 1) ? std::nullopt
                                                                     : std::optional(static_cast<std::size_t>(which));
}

/// Completes sizes of which one may be -1, the rest.
Sizes completed(Sizes sizes, std::int64_t count) {
  std::int64_t others = 1;
  for (const std::int64_t size : sizes)
    if (size > 0) others *= size;
  for (std::int64_t& size : sizes)
    if (size < 0) size = others == 0 ? 0 : count / others;
  return sizes;
}

Sizes together(const std::vector<const Shape*>& shapes) {
  Sizes result;
  for (const Shape* shape : shapes) {
    if (shape->sizes.size() > result.size()) result.insert(result.begin(), shape->sizes.size() - result.size(), 1);
    const std::size_t skipped = result.size() - shape->sizes.size();
    for (std::size_t i = 0; i < shape->sizes.size(); ++i)
      if (std::int64_t& one = result[skipped + i]; one == 1) one = shape->sizes[i];
  }
  return result;
}

Sizes of_self(const Given& given) {
  if (const Shape* self = given.tensor("self")) return self->sizes;
  if (!given.all.empty()) return given.all.front()->sizes;
  return given.listed.empty() ? Sizes{} : given.listed.front()->sizes;
}

Sizes product_of_matrices(const Sizes& a, const Sizes& b) {
  if (a.empty() || b.empty()) return {};
  Sizes result(a.begin(), a.end() - 1);
  if (b.size() > a.size()) result.insert(result.begin(), b.begin(), b.begin() + static_cast<long>(b.size() - a.size()));
  if (b.size() > 1) result.push_back(b.back());
  return result;
}

/// The shape of a reduction: the named dimensions are removed, or have size 1; all of them if none is named.
Sizes reduced(const Given& given) {
  Sizes sizes = of_self(given);
  std::optional<Sizes> named = given.integers("dim");
  if (!named)
    if (const auto one = given.integer("dim")) named = Sizes{*one};
  if (!named || named->empty()) return {};
  const bool keeps = given.integer("keepdim").value_or(0) != 0;
  std::vector<bool> gone(sizes.size());
  for (const std::int64_t which : *named)
    if (const auto at = dimension(which, sizes.size()); at && *at < gone.size()) gone[*at] = true;
  Sizes result;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (!gone[i])
      result.push_back(sizes[i]);
    else if (keeps)
      result.push_back(1);
  return result;
}

Sizes with(Sizes sizes, std::optional<std::int64_t> which, std::optional<std::int64_t> size) {
  if (const auto at = dimension(which.value_or(0), sizes.size()); at && *at < sizes.size() && size) sizes[*at] = *size;
  return sizes;
}

Sizes joined(const Given& given) {
  Sizes result = of_self(given);
  const auto at = dimension(given.integer("dim").value_or(0), result.size());
  if (!at || *at >= result.size()) return result;
  result[*at] = 0;
  for (const Shape* each : given.listed)
    if (*at < each->sizes.size()) result[*at] += each->sizes[*at];
  return result;
}

Sizes stacked(const Given& given) {
  Sizes result = of_self(given);
  const auto at = dimension(given.integer("dim").value_or(0), result.size() + 1);
  if (at) result.insert(result.begin() + static_cast<long>(*at), static_cast<std::int64_t>(given.listed.size()));
  return result;
}

using Rule = Sizes (*)(const Given&);

Sizes of_tensor(const Given& given, std::string_view name) {
  const Shape* shape = given.tensor(name);
  return shape == nullptr ? Sizes{} : shape->sizes;
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto asked = [](const Given& given) { return given.integers("size").value_or(Sizes{}); };
  static const auto matrices = [](const Given& given) {
    const Shape* other = given.tensor("mat2") != nullptr ? given.tensor("mat2") : given.tensor("other");
    if (other == nullptr) other = given.tensor("vec");
    return product_of_matrices(of_self(given), other == nullptr ? Sizes{} : other->sizes);
  };
  static const auto sum_of_matrices = [](const Given& given) {
    const bool batched = given.tensor("batch1") != nullptr;
    return product_of_matrices(of_tensor(given, batched ? "batch1" : "mat1"),
                               of_tensor(given, batched ? "batch2" : "mat2"));
  };
  static const auto none = [](const Given&) { return Sizes{}; };
  static const auto self = [](const Given& given) { return of_self(given); };
  static const auto count = [](const Given& given) {
    for (const char* name : {"end", "n", "steps"})
      if (const auto value = given.integer(name)) return Sizes{std::max<std::int64_t>(*value, 0)};
    return Sizes{64};
  };
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"empty", asked},
      {"zeros", asked},
      {"ones", asked},
      {"full", asked},
      {"rand", asked},
      {"randn", asked},
      {"randint", asked},
      {"empty_strided", asked},
      {"new_empty", asked},
      {"new_zeros", asked},
      {"new_ones", asked},
      {"new_full", asked},
      {"arange", count},
      {"linspace", count},
      {"randperm", count},
      {"eye", [](const Given& given) { return Sizes(2, given.integer("n").value_or(64)); }},
      {"scalar_tensor", none},
      {"mm", matrices},
      {"bmm", matrices},
      {"matmul", matrices},
      {"mv", matrices},
      {"dot", none},
      {"addmm", sum_of_matrices},
      {"baddbmm", sum_of_matrices},
      {"linear",
       [](const Given& given) {
         const Sizes weight = of_tensor(given, "weight");
         Sizes result = of_tensor(given, "input");
         if (!result.empty() && !weight.empty()) result.back() = weight.front();
         return result;
       }},
      {"embedding",
       [](const Given& given) {
         const Sizes weight = of_tensor(given, "weight");
         Sizes result = of_tensor(given, "indices");
         if (!weight.empty()) result.push_back(weight.back());
         return result;
       }},
      {"sum", reduced},
      {"mean", reduced},
      {"prod", reduced},
      {"amax", reduced},
      {"amin", reduced},
      {"max", reduced},
      {"min", reduced},
      {"argmax", reduced},
      {"argmin", reduced},
      {"norm", reduced},
      {"linalg_vector_norm", reduced},
      {"all", reduced},
      {"any", reduced},
      {"std", reduced},
      {"var", reduced},
      {"logsumexp", reduced},
      {"count_nonzero", reduced},
      {"cross_entropy_loss", none},
      {"mse_loss", none},
      {"nll_loss", none},
      {"cat", joined},
      {"concat", joined},
      {"stack", stacked},
      {"index_select",
       [](const Given& given) {
         return with(of_self(given), given.integer("dim"), product(of_tensor(given, "index")));
       }},
      {"topk", [](const Given& given) { return with(of_self(given), given.integer("dim"), given.integer("k")); }},
      {"gather", [](const Given& given) { return of_tensor(given, "index"); }},
      {"index_add", self},
      {"index_copy", self},
      {"scatter", self},
      {"scatter_add", self},
      {"masked_fill", self},
      {"layer_norm", [](const Given& given) { return of_tensor(given, "input"); }},
      {"reshape",
       [](const Given& given) {
         return completed(given.integers("shape").value_or(Sizes{}), product(of_self(given)));
       }},
      {"repeat",
       [](const Given& given) {
         Sizes result = given.integers("repeats").value_or(Sizes{});
         const Sizes self_sizes = of_self(given);
         for (std::size_t i = 0; i < self_sizes.size() && i < result.size(); ++i)
           result[result.size() - 1 - i] *= self_sizes[self_sizes.size() - 1 - i];
         return result;
       }},
      {"nonzero",
       [](const Given& given) {
         const Sizes of = of_self(given);
         return Sizes{1, static_cast<std::int64_t>(of.size())};
       }},
      {"masked_select", [](const Given&) { return Sizes{1}; }},
      {"bincount", [](const Given&) { return Sizes{64}; }},
      {"histc", [](const Given& given) { return Sizes{given.integer("bins").value_or(64)}; }},
  };
  return kRules;
}

/// A view with new sizes; nullopt: it would need a copy.
std::optional<Shape> resized(const Shape& of, Sizes sizes) {
  if (!of.is_contiguous()) return std::nullopt;
  Shape result = contiguous(completed(std::move(sizes), of.count()));
  if (result.count() != of.count()) return std::nullopt;
  result.offset = of.offset;
  return result;
}

Shape swapped(Shape shape, std::size_t a, std::size_t b) {
  if (a < shape.sizes.size() && b < shape.sizes.size()) {
    std::swap(shape.sizes[a], shape.sizes[b]);
    std::swap(shape.strides[a], shape.strides[b]);
  }
  return shape;
}

Shape part(Shape shape, std::size_t at, std::int64_t begin, std::int64_t length) {
  const std::int64_t size = shape.sizes[at];
  if (begin < 0) begin += size;
  begin = std::clamp<std::int64_t>(begin, 0, size);
  shape.sizes[at] = std::clamp<std::int64_t>(length, 0, size - begin);
  shape.offset += begin * shape.strides[at];
  return shape;
}

void erase_dimension(Shape& shape, std::size_t at) {
  shape.sizes.erase(shape.sizes.begin() + static_cast<long>(at));
  shape.strides.erase(shape.strides.begin() + static_cast<long>(at));
}

Shape squeezed(Shape shape, std::optional<std::size_t> only) {
  for (std::size_t i = shape.sizes.size(); i-- > 0;)
    if (shape.sizes[i] == 1 && (!only || *only == i)) erase_dimension(shape, i);
  return shape;
}

Shape expanded(const Shape& of, const Sizes& sizes) {
  Shape result{.sizes = sizes, .strides = Sizes(sizes.size()), .offset = of.offset};
  const std::size_t added = sizes.size() - std::min(sizes.size(), of.sizes.size());
  for (std::size_t i = added; i < sizes.size(); ++i) {
    const std::int64_t own = of.sizes[i - added];
    if (result.sizes[i] < 0) result.sizes[i] = own;
    result.strides[i] = own == 1 && result.sizes[i] != 1 ? 0 : of.strides[i - added];
  }
  return result;
}

}  // namespace

std::int64_t Shape::count() const { return product(sizes); }

bool Shape::is_contiguous() const {
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}

Shape contiguous(Sizes sizes) {
  Shape result{.sizes = std::move(sizes)};
  result.strides.resize(result.sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = result.sizes.size(); i-- > 0;) {
    result.sizes[i] = std::clamp<std::int64_t>(result.sizes[i], 0, kMostElements);
    result.strides[i] = next;
    next = std::min(next * std::max<std::int64_t>(result.sizes[i], 1), kMostElements);
  }
  return result;
}

std::optional<Shape> view_of(const Schema& schema, const Given& given, const Shape& of) {
  const std::string& name = schema.name;
  const std::size_t count = of.sizes.size();
  const auto at = [&](std::string_view argument) -> std::optional<std::size_t> {
    const auto which = given.integer(argument);
    const auto found = which ? dimension(*which, count) : std::nullopt;
    return found && *found < count ? found : std::nullopt;
  };
  static const std::unordered_set<std::string_view> kSame = {
      "detach", "alias", "contiguous", "to", "view_as_real", "lift", "data", "_conj", "variable_data", "positive"};
  if (kSame.contains(name)) return of;
  if (name == "view" || name == "_unsafe_view" || name == "reshape") {
    if (const auto asked = given.integers(name == "reshape" ? "shape" : "size")) return resized(of, *asked);
    return of;  // as another type
  }
  if (name == "view_as" || name == "reshape_as") {
    const Shape* other = given.tensor("other");
    return other == nullptr ? std::nullopt : resized(of, other->sizes);
  }
  if (name == "flatten") {
    const auto begin = at("start_dim"), end = at("end_dim");
    if (!begin || !end || *begin > *end) return std::nullopt;
    Sizes sizes(of.sizes.begin(), of.sizes.begin() + static_cast<long>(*begin));
    sizes.push_back(
        product(Sizes(of.sizes.begin() + static_cast<long>(*begin), of.sizes.begin() + static_cast<long>(*end) + 1)));
    sizes.insert(sizes.end(), of.sizes.begin() + static_cast<long>(*end) + 1, of.sizes.end());
    return resized(of, std::move(sizes));
  }
  if (name == "t" || name == "numpy_T") return count < 2 ? of : swapped(of, 0, 1);
  if (name == "transpose" || name == "swapaxes" || name == "swapdims") {
    const auto a = at("dim0"), b = at("dim1");
    return a && b ? std::optional(swapped(of, *a, *b)) : std::nullopt;
  }
  if (name == "permute") {
    const Sizes order = given.integers("dims").value_or(Sizes{});
    Shape result{.offset = of.offset};
    for (const std::int64_t which : order) {
      const auto from = dimension(which, count);
      if (!from || *from >= count) return std::nullopt;
      result.sizes.push_back(of.sizes[*from]);
      result.strides.push_back(of.strides[*from]);
    }
    return result;
  }
  if (name == "unsqueeze") {
    const auto where = dimension(given.integer("dim").value_or(0), count + 1);
    if (!where) return std::nullopt;
    Shape result = of;
    result.strides.insert(result.strides.begin() + static_cast<long>(*where),
                          *where < count ? of.sizes[*where] * of.strides[*where] : 1);
    result.sizes.insert(result.sizes.begin() + static_cast<long>(*where), 1);
    return result;
  }
  if (name == "squeeze") return squeezed(of, at("dim"));
  if (name == "expand") {
    const auto asked = given.integers("size");
    return asked && asked->size() >= count ? std::optional(expanded(of, *asked)) : std::nullopt;
  }
  if (name == "expand_as") {
    const Shape* other = given.tensor("other");
    return other != nullptr && other->sizes.size() >= count ? std::optional(expanded(of, other->sizes)) : std::nullopt;
  }
  if (name == "select") {
    const auto where = at("dim");
    if (!where) return std::nullopt;
    Shape result = part(of, *where, given.integer("index").value_or(0), 1);
    erase_dimension(result, *where);
    return result;
  }
  if (name == "narrow") {
    const auto where = at("dim");
    if (!where) return std::nullopt;
    return part(of, *where, given.integer("start").value_or(0), given.integer("length").value_or(0));
  }
  if (name == "slice") {
    const auto where = at("dim");
    if (!where || given.integer("step").value_or(1) != 1) return std::nullopt;
    const std::int64_t size = of.sizes[*where];
    const auto wrapped = [size](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
    };
    const std::int64_t begin = wrapped(given.integer("start").value_or(0));
    return part(of, *where, begin, wrapped(given.integer("end").value_or(size)) - begin);
  }
  if (name == "as_strided") {
    const auto sizes = given.integers("size"), strides = given.integers("stride");
    if (!sizes || !strides || sizes->size() != strides->size()) return std::nullopt;
    return Shape{.sizes = *sizes, .strides = *strides, .offset = given.integer("storage_offset").value_or(of.offset)};
  }
  return std::nullopt;
}

Sizes sizes_of_new(const Schema& schema, const Given& given) {
  std::string_view name = schema.name;
  if (name.starts_with('_')) name.remove_prefix(1);
  if (name.ends_with("_like")) return of_self(given);
  if (const auto rule = rules().find(name); rule != rules().end()) return rule->second(given);
  return given.all.empty() ? of_self(given) : together(given.all);
}

std::vector<Shape> parts_of(const Schema& schema, const Given& given, const Shape& of) {
  constexpr std::int64_t kMost = 256;
  std::vector<Shape> result;
  const auto at = dimension(given.integer("dim").value_or(0), of.sizes.size());
  if (!at || *at >= of.sizes.size()) return result;
  const std::int64_t size = of.sizes[*at];
  if (schema.name == "unbind") {
    for (std::int64_t i = 0; i < std::min(size, kMost); ++i) {
      result.push_back(part(of, *at, i, 1));
      erase_dimension(result.back(), *at);
    }
    return result;
  }
  Sizes lengths;
  if (const auto named = given.integers(schema.name == "split" ? "split_size" : "split_sizes")) {
    lengths = *named;
  } else {
    std::int64_t one = given.integer("split_size").value_or(0);
    if (const auto chunks = given.integer("chunks"); chunks && *chunks > 0) one = (size + *chunks - 1) / *chunks;
    for (std::int64_t begin = 0; one > 0 && begin < size && std::ssize(lengths) < kMost; begin += one)
      lengths.push_back(std::min(one, size - begin));
  }
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    result.push_back(part(of, *at, begin, length));
    begin += length;
  }
  return result;
}

}  // namespace streamsan::analyzer::interpreter
