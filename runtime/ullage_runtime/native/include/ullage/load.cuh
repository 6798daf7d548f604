// What a generated kernel includes: it declares the slots of its runner as a table and exports it.
//
// Python calls `open` once for a runner. It answers a function that takes recipes: those answer
// functions that prepare the loads of one shape, which answer functions that load. Each holds what
// it was made from, so that a shape passes a handful of numbers, and a load sources alone.
// Tensors arrive in sequences, as the address of the Python object.
#pragma once

#include <tvm/ffi/tvm_ffi.h>

#include <ullage/recipe.cuh>
#include <ullage/tensors.cuh>

namespace ullage {

namespace ffi = tvm::ffi;

// Where a runner lies, how to read its tensors, and where those on the host wait.
struct Opened {
  Place place;
  Reading reading;
  std::unique_ptr<Stage> stage;
};

// Takes numbers one after another.
class Numbers {
 public:
  explicit Numbers(ffi::PackedArgs arguments) : arguments_(arguments) {}

  std::int64_t next() { return arguments_[position_++].cast<std::int64_t>(); }
  ffi::Function next_function() { return arguments_[position_++].cast<ffi::Function>(); }
  void* next_object() { return reinterpret_cast<void*>(next()); }
  bool has_more() const { return position_ < arguments_.size(); }

  std::vector<std::int64_t> rest() {
    std::vector<std::int64_t> numbers;
    numbers.reserve(arguments_.size());
    while (has_more()) numbers.push_back(next());
    return numbers;
  }

 private:
  ffi::PackedArgs arguments_;
  int position_ = 0;
};

inline void describe(const Tensors& tensors, std::ptrdiff_t position, DLTensor& tensor) {
  if (!tensors.describe(position, tensor)) {
    throw std::invalid_argument("something is no tensor with memory");
  }
}

// The slots at their capacities, the sources of a first batch, and for each slot the three numbers
// of a RecipeSlot.
template <class Table>
std::shared_ptr<const Recipe<Table>> read_recipe(Numbers numbers, const Opened& opened) {
  auto recipe = std::make_shared<Recipe<Table>>(opened.place, *opened.stage);
  const Tensors storages(opened.reading, numbers.next_object());
  const Tensors sources(opened.reading, numbers.next_object());
  std::ptrdiff_t taken = 0;
  for (std::ptrdiff_t position = 0; numbers.has_more(); ++position) {
    DLTensor storage, source;
    describe(storages, position, storage);
    const std::int64_t first = numbers.next(), treatment = numbers.next(), fill = numbers.next();
    const bool is_sourced = treatment & kSourced;
    if (is_sourced) describe(sources, taken++, source);
    recipe->add({storage, is_sourced ? &source : nullptr, first, treatment, fill});
  }
  return recipe;
}

// What finds the stream that torch's next operation would go to.
inline auto stream_of(const Opened& opened) {
  return [&opened] { return current_stream(*opened.reading.interface, opened.place.device); };
}

// Writes from a sequence of sources; whether they were as expected.
template <class Table>
bool loaded(const Plan<Table>& plan, const Opened& opened, void* sequence) {
  const Tensors sources(opened.reading, sequence);
  if (sources.size() != plan.sources()) return false;
  return plan.load([&](std::ptrdiff_t position, DLTensor& source) {
    return sources.describe(position, source);
  }, stream_of(opened));
}

// What `body` gives. Python is told of arguments that it does not take, and of a device that
// refuses.
template <class Body>
auto told(const Body& body) {
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    throw ffi::Error("ValueError", error.what(), "");
  } catch (const std::runtime_error& error) {
    throw ffi::Error("LaunchError", error.what(), "");
  }
}

template <class Table>
ffi::Function load_of(const std::shared_ptr<const Plan<Table>>& plan,
                      const std::shared_ptr<const Opened>& opened) {
  return ffi::Function::FromPacked([plan, opened](ffi::PackedArgs given, ffi::Any* result) {
    *result = told([&] { return loaded(*plan, *opened, Numbers(given).next_object()); });
  });
}

// What loads batches of the shape of some sources, or true once those are loaded; nothing, which is
// None in Python, if they are not what the recipe is for, or could not be written from. The sources,
// whether others of the shape will come, and its numbers.
template <class Table>
ffi::Any take_shape(const Recipe<Table>& recipe, Numbers numbers,
                    const std::shared_ptr<const Opened>& opened) {
  const Tensors sources(opened->reading, numbers.next_object());
  const bool keeps = numbers.next() != 0;
  std::vector<DLTensor> given(recipe.sources());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!sources.describe(static_cast<std::ptrdiff_t>(i), given[i])) return {};
  }
  std::vector<std::int64_t> shape = numbers.rest();
  Plan<Table> plan = recipe.plan();
  if (!recipe.add_to(plan, given, shape)) return {};
  if (keeps) return load_of<Table>(std::make_shared<Plan<Table>>(std::move(plan)), opened);
  const auto again = [&](std::ptrdiff_t position, DLTensor& source) {
    source = given[position];
    return true;
  };
  return plan.load(again, stream_of(*opened)) ? ffi::Any(true) : ffi::Any();
}

// A function that takes one shape after another.
template <class Table>
ffi::Function recipe_of(const ffi::PackedArgs& arguments,
                        const std::shared_ptr<const Opened>& opened) {
  const auto recipe = told([&] { return read_recipe<Table>(Numbers(arguments), *opened); });
  return ffi::Function::FromPacked([recipe, opened](ffi::PackedArgs given, ffi::Any* result) {
    *result = told([&] { return take_shape(*recipe, Numbers(given), opened); });
  });
}

// Asks Python about a stream.
inline std::function<bool(Stream)> asking(const ffi::Function& function) {
  return [function](Stream stream) {
    return function(reinterpret_cast<std::intptr_t>(stream)).cast<bool>();
  };
}

// Torch's interface and its class of tensors, the device, what says of a stream whether it lives as
// long as the process, then the first address of each arena and the first behind it.
template <class Table>
ffi::Function opened(const ffi::PackedArgs& arguments) {
  auto opened = std::make_shared<Opened>();
  Numbers numbers(arguments);
  opened->reading.interface = static_cast<const DLPackExchangeAPI*>(numbers.next_object());
  opened->reading.tensor_class = numbers.next_object();
  opened->place.device = static_cast<int>(numbers.next());
  opened->stage = std::make_unique<Stage>(opened->place.device, asking(numbers.next_function()));
  while (numbers.has_more()) {
    const auto low = static_cast<std::uintptr_t>(numbers.next());
    opened->place.arenas.push_back({low, static_cast<std::uintptr_t>(numbers.next())});
  }
  opened->reading.require_known();
  const OnDevice guard(opened->place.device);
  Kernels<Table>::load_all_code();
  return ffi::Function::FromPacked([opened](ffi::PackedArgs given, ffi::Any* result) {
    *result = recipe_of<Table>(given, opened);
  });
}

}  // namespace ullage

#define ULLAGE_EXPORT(Table)                                                                      \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_open(void*, const TVMFFIAny* arguments,             \
                                                   std::int32_t count, TVMFFIAny* result) {       \
    TVM_FFI_SAFE_CALL_BEGIN();                                                                    \
    const auto* views = reinterpret_cast<const ::tvm::ffi::AnyView*>(arguments);                  \
    *reinterpret_cast<::tvm::ffi::Any*>(result) =                                                 \
        ::ullage::opened<Table>(::tvm::ffi::PackedArgs(views, count));                            \
    TVM_FFI_SAFE_CALL_END();                                                                      \
  }
