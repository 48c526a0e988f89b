namespace onced {}
