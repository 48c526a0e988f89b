#include "tests/integration/async_reserve.h"

namespace onced::integration {

AsyncReserve::AsyncReserve(Api& api, v1::ReserveRequest request,
                           std::chrono::system_clock::time_point deadline)
    : request_(std::move(request)), answered_(done_.get_future()) {
  context_.set_deadline(deadline);
  api.stub().async()->Reserve(&context_, &request_, &reply_.response, [this](grpc::Status status) {
    reply_.status = std::move(status);
    done_.set_value();
  });
}

AsyncReserve::~AsyncReserve() {
  context_.TryCancel();
  answered_.wait();
}

const Reply<v1::ReserveResponse>& AsyncReserve::Get() {
  answered_.wait();
  return reply_;
}

bool AsyncReserve::IsAnswered() const {
  return answered_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

int CountOf(const AsyncReserves& reserves, v1::Outcome outcome) {
  int count = 0;
  for (const auto& reserve : reserves) count += reserve->Outcome() == outcome;
  return count;
}

int CountAnswered(const AsyncReserves& reserves) {
  int count = 0;
  for (const auto& reserve : reserves) count += reserve->IsAnswered();
  return count;
}

}  // namespace onced::integration
