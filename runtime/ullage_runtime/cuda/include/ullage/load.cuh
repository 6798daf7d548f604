// What a generated kernel includes: it declares the slots of its runner as a table and exports it.
//
// Python calls `open` once for a runner. It answers a function that prepares loads, which answers
// a function that loads: each holds what it was made from, so that a call passes sources alone.
#pragma once

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/tvm_ffi.h>

#include <ullage/plan.cuh>

namespace ullage {

namespace ffi = tvm::ffi;

// A tensor among arguments; null for anything else.
inline const DLTensor* tensor_at(const ffi::PackedArgs& arguments, int position) {
  const auto tensor = arguments[position].try_cast<DLTensor*>();
  return tensor ? *tensor : nullptr;
}

// Takes arguments one after another.
class Reader {
 public:
  explicit Reader(const ffi::PackedArgs& arguments) : arguments_(arguments) {}

  std::int64_t number() { return arguments_[position_++].cast<std::int64_t>(); }
  const DLTensor* tensor() { return arguments_[position_++].cast<DLTensor*>(); }
  bool has_more() const { return position_ < arguments_.size(); }

 private:
  const ffi::PackedArgs& arguments_;
  int position_ = 0;
};

// An element of `bytes` bytes again and again.
inline std::uint64_t repeated(std::uint64_t element, int bytes) {
  if (bytes == 8) return element;
  const std::uint64_t one = element & ((std::uint64_t{1} << 8 * bytes) - 1);
  return one * (~std::uint64_t{0} / ((std::uint64_t{1} << 8 * bytes) - 1));
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

// One slot: its view, the live extents, whether there is a fill, its bits, whether there is a
// source, and the source.
inline SlotLoad read_load(Reader& reader) {
  SlotLoad load{};
  load.view = reader.tensor();
  for (int i = 0; i < load.view->ndim; ++i) load.live.push_back(reader.number());
  load.filled = reader.number() != 0;
  load.fill = repeated(static_cast<std::uint64_t>(reader.number()), bytes_of(load.view->dtype));
  if (reader.number() != 0) load.source = reader.tensor();
  require_like_view(load);
  return load;
}

template <class Table>
ffi::Function prepared(const ffi::PackedArgs& arguments, const std::shared_ptr<const Place>& place) {
  auto plan = std::make_shared<Plan<Table>>(place);
  try {
    for (Reader reader(arguments); reader.has_more();) plan->add(read_load(reader));
  } catch (const std::invalid_argument& error) {
    throw ffi::Error("ValueError", error.what(), "");
  }
  return ffi::Function::FromPacked([plan](ffi::PackedArgs given, ffi::Any* result) {
    const auto source = [&](std::size_t i) { return tensor_at(given, static_cast<int>(i)); };
    const auto stream =
        static_cast<Stream>(TVMFFIEnvGetStream(kDevice, plan->place().device));
    try {
      *result = given.size() == plan->arguments() && plan->load(source, stream);
    } catch (const std::runtime_error& error) {
      throw ffi::Error("LaunchError", error.what(), "");
    }
  });
}

// The device, then the first address of each arena and the first behind it.
template <class Table>
ffi::Function opened(const ffi::PackedArgs& arguments) {
  auto place = std::make_shared<Place>();
  Reader reader(arguments);
  place->device = static_cast<int>(reader.number());
  while (reader.has_more()) {
    const auto low = static_cast<std::uintptr_t>(reader.number());
    place->arenas.push_back({low, static_cast<std::uintptr_t>(reader.number())});
  }
  const OnDevice guard(place->device);
  Kernels<Table>::load_all_code();
  return ffi::Function::FromPacked([place](ffi::PackedArgs given, ffi::Any* result) {
    *result = prepared<Table>(given, place);
  });
}

}  // namespace ullage

#define ULLAGE_EXPORT(Table)                                                               \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_open(void*, const TVMFFIAny* arguments,      \
                                                   std::int32_t count, TVMFFIAny* result) { \
    TVM_FFI_SAFE_CALL_BEGIN();                                                             \
    *reinterpret_cast<::tvm::ffi::Any*>(result) = ::ullage::opened<Table>(                 \
        ::tvm::ffi::PackedArgs(reinterpret_cast<const ::tvm::ffi::AnyView*>(arguments), count)); \
    TVM_FFI_SAFE_CALL_END();                                                               \
  }
