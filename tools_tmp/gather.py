"""run-1 driver (temporary)"""
import sys,time,json,os
from dataclasses import replace
from pathlib import Path
def main():
    out=Path(os.environ.get("OUT","/tmp/out")); out.mkdir(exist_ok=True)
    until=time.monotonic()+float(sys.argv[1]); count=int(sys.argv[2]); seed=int(sys.argv[3])
    from kernels.device import choose_backend, current_device
    choose_backend(); device=current_device()
    from kernels.bench.any_shape import draw_shapes
    from kernels.tune.random_work import Chooser, drawn_gemms
    from kernels.tune.random_runs import Runs, samples_of
    from kernels.tune.sample import written
    from kernels.device import Unsupported
    import torch
    print(device,flush=True)
    fams=[("rowwise","fprop"),("deepseek_v3","fprop"),("rowwise","dgrad"),("deepseek_v3","wgrad"),("rowwise","wgrad"),("mxfp8","fprop"),("mxfp8","wgrad")]
    rare=[("mxfp4","fprop"),("mxfp4","wgrad"),("mxfp4_train","fprop"),("rowwise_hp_wgrad","wgrad"),("per_tensor_hifloat8","fprop"),("nvfp4","dgrad"),("mxfp6_e3m2","fprop")]
    layers=[replace(l,tokens=l.tokens if l.tokens<16 else -(-l.tokens//16)*16) for l in draw_shapes(count,seed)]
    layers=[l for l in layers if l.tokens*l.in_*l.out<1.5e12 and max(l.in_,l.out)<=65536]
    choosers={f:Chooser(device,7,4,int(sys.argv[4]),seed) for f in fams+rare}
    tasks=[]
    t=time.time()
    for i,l in enumerate(layers):
        for f in fams+(rare if i%6==0 else []):
            d=next(iter(drawn_gemms([l],[f[0]],[f[1]])))
            if f in rare: choosers[f]._most=10
            if f[0]=="mxfp8": choosers[f]._most=24
            task=choosers[f].task(d)
            if isinstance(task,Unsupported): print(task); continue
            tasks.append(task)
    print(len(tasks),"tasks",sum(len(t.blocks) for t in tasks),"samples; chosen in",time.time()-t,flush=True)
    t0=time.monotonic()
    runs=Runs(tasks,device,workers=int(sys.argv[5]),rounds=3,turn_us=1200.0,peers=True)
    print(runs.kernels,"kernels",flush=True)
    if len(sys.argv)>6: return
    n=0
    f=open(out/"samples.jsonl","w")
    for task,ours,peers in runs.timed(until):
        f.write(written(samples_of(task,ours,peers))); n+=1
        if n in (1,3,10) or n%60==0:
            f.flush(); print(n,f"{time.monotonic()-t0:.1f}s",sum(x.done() for x in runs._compiled.values()),"compiled",flush=True)
        if ours and peers:
            d=task.drawn; best=min(ours.values()); first=ours.get(task.blocks[0])
    f.close()
    print(n,"tasks timed",f"{time.monotonic()-t0:.1f}s",sum(x.done() for x in runs._compiled.values()),"compiled")
    print("\n".join(runs.faults[:30]),len(runs.faults))
    os._exit(0)
if __name__=="__main__": main()
