// A launch that does nothing, through the same path as a load: what a load cannot be faster than.
#include <ullage/load.cuh>

namespace {

__global__ void nothing() {}

// Describes all tensors of a sequence, and launches.
void launch(const ullage::Reading& reading, int device, void* sequence) {
  const ullage::Tensors tensors(reading, sequence);
  DLTensor tensor;
  for (std::ptrdiff_t i = 0; i < tensors.size(); ++i) ullage::describe(tensors, i, tensor);
  const auto stream = ullage::current_stream(*reading.interface, device);
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
  ullage::Reading reading;
  reading.interface = static_cast<const DLPackExchangeAPI*>(numbers.next_object());
  reading.tensor_class = numbers.next_object();
  const auto device = static_cast<int>(numbers.next());
  *reinterpret_cast<ffi::Any*>(result) =
      ffi::Function::FromPacked([reading, device](ffi::PackedArgs given, ffi::Any* answer) {
        launch(reading, device, ullage::Numbers(given).next_object());
        *answer = true;
      });
  TVM_FFI_SAFE_CALL_END();
}
