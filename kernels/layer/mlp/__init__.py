"""SwigluMlp: a transformer's feed-forward block in a recipe.

- module.py: SwigluMlp, two layers and SwiGLU between them, which is quantized as it is computed
- autograd.py: run_mlp, by tapes or function by function
- step.py: the steps of both ways
- taped.py: both ways of a block called from Python, each one tape
"""
