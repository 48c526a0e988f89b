// onced.
#include "server/serve.h"

int main(int argc, char** argv) { return onced::Main({argv + 1, argv + argc}, {}); }
