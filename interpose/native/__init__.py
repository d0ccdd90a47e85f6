"""The native engine: the program runs on the real CPU, and Frida's interceptor puts the bindings of the
redirection core into effect (docs/native.md)."""
