// Tensors of a Python sequence, read where they lie: through torch's exchange interface, which
// fills in a description without owning anything. Only with Python's lock held.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <stdexcept>

#include <ullage/python.cuh>

namespace ullage {

// How to read tensors: torch's interface, and its class of tensors.
struct Reading {
  const DLPackExchangeAPI* interface;
  void* tensor_class;

  void require_known() const {
    if (interface->header.version.major != DLPACK_MAJOR_VERSION ||
        interface->dltensor_from_py_object_no_sync == nullptr) {
      throw std::invalid_argument("torch describes tensors in a way that is not known");
    }
  }
};

// The tensors of a sequence, which has to stay as it is meanwhile.
class Tensors {
 public:
  Tensors(const Reading& reading, void* sequence) : reading_(reading), sequence_(sequence) {}

  std::ptrdiff_t size() const {
    const std::ptrdiff_t size = PySequence_Size(sequence_);
    if (size < 0) PyErr_Clear();
    return size;
  }

  // Describes the tensor at a position. False if that is none, or has no memory that could be
  // described: sparse and nested ones, and those of other backends.
  bool describe(std::ptrdiff_t position, DLTensor& tensor) const {
    void* object = PySequence_GetItem(sequence_, position);
    const bool described = object != nullptr && is_tensor(object) &&
                           reading_.interface->dltensor_from_py_object_no_sync(object, &tensor) == 0;
    if (object != nullptr) Py_DecRef(object);  // the sequence holds it
    if (!described) PyErr_Clear();
    return described;
  }

 private:
  bool is_tensor(void* object) const {
    void* type = PyObject_Type(object);
    const bool is_one =
        type == reading_.tensor_class || PyType_IsSubtype(type, reading_.tensor_class) != 0;
    Py_DecRef(type);
    return is_one;
  }

  const Reading& reading_;
  void* sequence_;
};

}  // namespace ullage
