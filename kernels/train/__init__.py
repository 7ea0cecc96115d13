"""Training of a small language model in a recipe: does the loss notice?

variants.py    recipes that break, and changes that show nothing
job.py         a run (TrainJob), and sizes of models
row.py         its result, recorded

text.py        bytes to learn from
model.py       the decoder
step.py        Trainer: one step, captured as a CUDA graph

run.py         a whole run, as a worker's job and as one of python -m kernels.train
statistics.py  statistics of each layer's tensors, and crops of them
speed.py       times of a step, beside those of a plain loop
"""
