"""How a model asks for tools: a protocol shows tools, reads replies and words what goes back."""
