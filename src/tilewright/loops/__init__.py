"""The loop nest x = g's input: nodes, naive lowering, show, verify, interpret, tidy passes."""
