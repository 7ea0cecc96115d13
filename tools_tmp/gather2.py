"""run-2 driver (temporary)"""
import sys,time,json,os,signal
from dataclasses import replace
from pathlib import Path
def main():
    out=Path(os.environ.get("OUT","/tmp/out")); out.mkdir(exist_ok=True)
    began=time.monotonic()
    until=began+float(sys.argv[1]); count=int(sys.argv[2]); seed=int(sys.argv[3]); best=int(sys.argv[4]); others=int(sys.argv[5]); workers=int(sys.argv[6])
    from kernels.device import choose_backend, current_device
    choose_backend(); device=current_device()
    from kernels.bench.any_shape import draw_shapes
    from kernels.tune.random_work import Chooser, drawn_gemms
    from kernels.tune.random_runs import Runs, samples_of
    from kernels.tune.sample import written
    from kernels.device import Unsupported
    print(device,flush=True)
    fams=[(r,m) for r in ("per_tensor","rowwise","deepseek_v3","mxfp8") for m in ("fprop","dgrad","wgrad")]
    layers=draw_shapes(count,seed)
    choosers={}
    tasks=[]
    t=time.time()
    for i,l in enumerate(layers):
        for j,f in enumerate(fams):
            if f[0]=="mxfp8" and (i+j)%2: continue
            d=next(iter(drawn_gemms([l],[f[0]],[f[1]])))
            if d.flop>3e13: continue
            c=choosers.setdefault(f,Chooser(device,best,others,14,seed))
            task=c.task(d)
            if isinstance(task,Unsupported): print(task); continue
            tasks.append(task)
    print(len(tasks),"tasks",sum(len(t.blocks) for t in tasks),"samples; chosen in",time.time()-t,flush=True)
    t0=time.monotonic()
    runs=Runs(tasks,device,workers=workers,rounds=3,turn_us=1000.0,peers=True)
    print(runs.kernels,"kernels",flush=True)
    if len(sys.argv)>7: return
    n=0
    f=open(out/"samples.jsonl","w")
    for task,ours,peers in runs.timed(until):
        f.write(written(samples_of(task,ours,peers))); n+=1
        if n in (1,3,10,30) or n%60==0:
            f.flush(); print(n,f"{time.monotonic()-t0:.1f}s",sum(x.done() for x in runs._compiled.values()),"compiled",flush=True)
    f.close()
    print(n,"tasks timed",f"{time.monotonic()-t0:.1f}s of {time.monotonic()-began:.1f}s",sum(x.done() for x in runs._compiled.values()),"compiled")
    print("\n".join(runs.faults[:30]),len(runs.faults),flush=True)
    for p in runs._pool._processes.values(): os.kill(p.pid,signal.SIGKILL)
    os._exit(0)
if __name__=="__main__": main()
