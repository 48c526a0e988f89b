// Charges an order once, however often it is asked to:
//
//   charge SERVER ORDER CENTS
#include <cstdlib>
#include <iostream>

#include "charge.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: charge SERVER ORDER CENTS\n";
    return EXIT_FAILURE;
  }
  const onced::client::Client client = onced::client::Client::Connect(argv[1]);
  const Answer answer = ChargeOnce(client, "charges.txt", argv[2], argv[3]);
  std::cout << answer.status << " " << answer.text << "\n";
  return answer.status < 300 ? EXIT_SUCCESS : EXIT_FAILURE;
}
