"""Training of a small language model under a recipe: does the loss notice?

sizes.py       sizes of the model
variants.py    recipes that break, and changes that show nothing, as data
job.py, row.py a run that is asked for, and its result
records.py     recorded runs

text.py        bytes to learn from, whole files held out
model/         the decoder, and the plain loop that it stands beside
step.py        Trainer: one step, captured as a CUDA graph
run.py         from the first step to the last; failure.py: the tensor at which a run failed
statistics.py  what a recipe does to each layer's tensors; counted.py: GEMMs that are quantized
tensors.py     crops of real tensors, amax step by step

ready/         parts of a run that are compiled before anybody asks for it
session.py     the runs of python -m kernels.train; measure.py: a run as a worker's job
speed.py       times of a step, beside those of the plain loop
"""
