// What is in PEM files.
#pragma once

#include <string>

namespace onced::client {

// At least one that is whole, before whatever else.
bool HasCertificate(const std::string& pem);
// Of the first certificate.
bool IsKeyOf(const std::string& key_pem, const std::string& certificate_pem);

}  // namespace onced::client
