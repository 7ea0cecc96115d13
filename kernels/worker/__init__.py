"""Jobs run in a separate process, one a GPU, fed by a queue. The parent's side imports no torch.

A fault, a hang or a lack of memory ends that process. A sentence reports it, and the next job gets a fresh
process.

    queue = WorkerQueue(launchers(visible_gpus(os.environ)))
    ticket = queue.submit(GemmJob(recipe="mxfp8", matmul="fprop", m=256, n=256, k=256), session)
    queue.state(ticket)      # Waiting, Starting, Running, Done, Failed or Stopped

kernels.worker.jobs lists the kinds of jobs.
"""
