// The messages of each operator.
#ifndef CORANK_SERVER_MODEL_OPERATOR_TRAITS_H_
#define CORANK_SERVER_MODEL_OPERATOR_TRAITS_H_

#include "corank/v1/corank_service.pb.h"
#include "corank/v1/operators.pb.h"
#include "server/model/operator.h"

namespace corank {

template <typename RequestMessage>
struct OperatorTraits;

#define CORANK_ROW(Name, name)                                                        \
  template <>                                                                         \
  struct OperatorTraits<v1::Name##Request> {                                          \
    using Request = v1::Name##Request;                                                \
    using Response = v1::Name##Response;                                              \
    static constexpr Operator kOperator = Operator::k##Name;                          \
    static constexpr const char* kMethod = #Name;                                     \
    static_assert(v1::Operation::k##Name == static_cast<int>(Operator::k##Name) + 1,  \
                  "the contract and this list have the operators in the same order"); \
  };
CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW

/// Calls fn(OperatorTraits<Request>()) for each operator.
template <typename Fn>
void ForEachOperator(const Fn& fn) {
#define CORANK_ROW(Name, name) fn(OperatorTraits<v1::Name##Request>());
  CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW
}

/// The operator that is set.
inline Operator OperatorOf(const v1::Operation& operation) {
  return static_cast<Operator>(static_cast<int>(operation.operation_case()) - 1);
}

/// Calls fn(request) with the request of the operator that is set.
template <typename Fn>
auto WithRequest(const v1::Operation& operation, const Fn& fn) {
  switch (operation.operation_case()) {
#define CORANK_ROW(Name, name) \
  case v1::Operation::k##Name: \
    return fn(operation.name());
    CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW
    default:
      break;
  }
  return fn(operation.sort());  // the caller checked that one is set
}

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OPERATOR_TRAITS_H_
