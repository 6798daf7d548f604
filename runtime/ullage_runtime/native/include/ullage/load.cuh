// What a generated kernel includes: it declares the slots of its runner as a table and exports it.
//
// Python calls `open` once for a runner. It answers a function that prepares loads, which answers
// a function that loads: each holds what it was made from, so that a call passes sources alone.
// Tensors arrive in sequences, as the address of the Python object.
#pragma once

#include <tvm/ffi/tvm_ffi.h>

#include <ullage/plan.cuh>
#include <ullage/tensors.cuh>

namespace ullage {

namespace ffi = tvm::ffi;

// Where a runner lies, and how to read its tensors.
struct Opened {
  Place place;
  Reading reading;
};

// Takes numbers one after another.
class Numbers {
 public:
  explicit Numbers(ffi::PackedArgs arguments) : arguments_(arguments) {}

  std::int64_t next() { return arguments_[position_++].cast<std::int64_t>(); }
  void* next_object() { return reinterpret_cast<void*>(next()); }
  bool has_more() const { return position_ < arguments_.size(); }

 private:
  ffi::PackedArgs arguments_;
  int position_ = 0;
};

// An element of `bytes` bytes again and again.
inline std::uint64_t repeated(std::uint64_t element, int bytes) {
  if (bytes == 8) return element;
  const std::uint64_t one = element & ((std::uint64_t{1} << 8 * bytes) - 1);
  return one * (~std::uint64_t{0} / ((std::uint64_t{1} << 8 * bytes) - 1));
}

inline void describe(const Tensors& tensors, std::ptrdiff_t position, DLTensor& tensor) {
  if (!tensors.describe(position, tensor)) {
    throw std::invalid_argument("something is no tensor with memory");
  }
}

inline void require_like_view(const SlotLoad& load) {
  const DLTensor& view = *load.view;
  bool fits = true;
  for (int i = 0; i < view.ndim; ++i) fits = fits && load.live[i] <= view.shape[i];
  if (load.source != nullptr) {
    fits = fits && load.source->ndim == view.ndim;
    for (int i = 0; fits && i < view.ndim; ++i) fits = load.source->shape[i] == load.live[i];
  }
  if (!fits) throw std::invalid_argument("a source is not the live part of its slot");
}

// The views, the sources, and for each view its live extents, whether there is a fill, the bits
// of that, and whether there is a source.
template <class Table>
std::shared_ptr<const Plan<Table>> planned(Numbers numbers, const Opened& opened) {
  auto plan = std::make_shared<Plan<Table>>(opened.place);
  const Tensors views(opened.reading, numbers.next_object());
  const Tensors sources(opened.reading, numbers.next_object());
  std::ptrdiff_t taken = 0;
  for (std::ptrdiff_t position = 0; numbers.has_more(); ++position) {
    DLTensor view, source;
    SlotLoad load{};
    describe(views, position, view);
    load.view = &view;
    for (int i = 0; i < view.ndim; ++i) load.live.push_back(numbers.next());
    load.filled = numbers.next() != 0;
    load.fill = repeated(static_cast<std::uint64_t>(numbers.next()), bytes_of(view.dtype));
    if (numbers.next() != 0) {
      describe(sources, taken++, source);
      load.source = &source;
    }
    require_like_view(load);
    plan->add(load);
  }
  return plan;
}

// Writes from a sequence of sources; whether they were as expected.
template <class Table>
bool loaded(const Plan<Table>& plan, const Opened& opened, void* sequence) {
  const Tensors sources(opened.reading, sequence);
  if (sources.size() != plan.sources()) return false;
  return plan.load([&](std::ptrdiff_t position, DLTensor& source) {
    return sources.describe(position, source);
  }, [&] { return current_stream(*opened.reading.interface, opened.place.device); });
}

template <class Table>
ffi::Function prepared(const ffi::PackedArgs& arguments,
                       const std::shared_ptr<const Opened>& opened) {
  std::shared_ptr<const Plan<Table>> plan;
  try {
    plan = planned<Table>(Numbers(arguments), *opened);
  } catch (const std::invalid_argument& error) {
    throw ffi::Error("ValueError", error.what(), "");
  }
  return ffi::Function::FromPacked([plan, opened](ffi::PackedArgs given, ffi::Any* result) {
    try {
      *result = loaded(*plan, *opened, Numbers(given).next_object());
    } catch (const std::runtime_error& error) {
      throw ffi::Error("LaunchError", error.what(), "");
    }
  });
}

// Torch's interface and its class of tensors, the device, then the first address of each arena
// and the first behind it.
template <class Table>
ffi::Function opened(const ffi::PackedArgs& arguments) {
  auto opened = std::make_shared<Opened>();
  Numbers numbers(arguments);
  opened->reading.interface = static_cast<const DLPackExchangeAPI*>(numbers.next_object());
  opened->reading.tensor_class = numbers.next_object();
  opened->place.device = static_cast<int>(numbers.next());
  while (numbers.has_more()) {
    const auto low = static_cast<std::uintptr_t>(numbers.next());
    opened->place.arenas.push_back({low, static_cast<std::uintptr_t>(numbers.next())});
  }
  opened->reading.require_known();
  const OnDevice guard(opened->place.device);
  Kernels<Table>::load_all_code();
  return ffi::Function::FromPacked([opened](ffi::PackedArgs given, ffi::Any* result) {
    *result = prepared<Table>(given, opened);
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
