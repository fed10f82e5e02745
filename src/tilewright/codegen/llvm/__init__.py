"""CPU code through LLVM: text in SSA form, no IR passes, code generation at level 2."""
