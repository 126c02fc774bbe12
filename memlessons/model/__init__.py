"""Models: attention designs, a decoder, checkpoints and the tokenizer.

Importing this package loads nothing. Take what you need from its modules: `model.load`, `model.fetch`,
`model.decoder`, `model.tokenizer`, `model.generate`.
"""
