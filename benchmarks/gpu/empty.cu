// A launch that does nothing, through the same path as a load: what a load cannot be faster than.
#include <ullage/load.cuh>

namespace {

__global__ void nothing() {}

// Describes all tensors of a sequence, and launches.
void launch(const ullage::Opened& opened, void* sequence) {
  const ullage::Tensors tensors(opened.reading, sequence);
  DLTensor tensor;
  for (std::ptrdiff_t i = 0; i < tensors.size(); ++i) ullage::describe(tensors, i, tensor);
  const auto stream = ullage::current_stream(*opened.reading.interface, opened.place.device);
  void* none[] = {nullptr};
  ullage::require(cudaLaunchKernel(reinterpret_cast<const void*>(&nothing), dim3(1),
                                   dim3(ullage::kThreads), none, 0, stream));
}

}  // namespace

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_open(void*, const TVMFFIAny* arguments,
                                                 std::int32_t count, TVMFFIAny* result) {
  namespace ffi = tvm::ffi;
  TVM_FFI_SAFE_CALL_BEGIN();
  ullage::Numbers numbers(ffi::PackedArgs(reinterpret_cast<const ffi::AnyView*>(arguments), count));
  ullage::Opened opened;
  opened.reading.interface = static_cast<const DLPackExchangeAPI*>(numbers.next_object());
  opened.reading.tensor_class = numbers.next_object();
  opened.place.device = static_cast<int>(numbers.next());
  *reinterpret_cast<ffi::Any*>(result) =
      ffi::Function::FromPacked([opened](ffi::PackedArgs given, ffi::Any* answer) {
        launch(opened, ullage::Numbers(given).next_object());
        *answer = true;
      });
  TVM_FFI_SAFE_CALL_END();
}
