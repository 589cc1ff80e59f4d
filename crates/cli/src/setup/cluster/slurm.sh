#!/bin/bash
# A run in @SHARDS@ shards, and a job that merges them. Start this with bash, on a disk that all nodes have.
# SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT and so on are options of both jobs.
set -eu
cd @ROOT@
export RUN=@RUN@ # Submitted again with the same id, the jobs run what is missing.
mkdir -p artifacts/skill-evals
array=$(sbatch --parsable --export=ALL <<'JOB'
#!/bin/bash
#SBATCH --job-name=skill-evals --array=1-@SHARDS@
#SBATCH --output=artifacts/skill-evals/slurm-%A_%a.log
#SBATCH --requeue --open-mode=append
trap : TERM # Bash waits until the program has stored what it has.
# A task that starts again resumes its shard. A failed case is a result: the merge job has its exit code.
skill-evals run --resume --run-id "$RUN" --shard auto --shards @SHARDS@@OPTIONS@ || [ $? = 1 ]
JOB
)
array=${array%%;*}
trap echo EXIT
printf %s "$RUN: array job $array" # Said now: the second sbatch may fail.
merge=$(sbatch --parsable --export=ALL --dependency="afterany:$array" <<'JOB'
#!/bin/bash
#SBATCH --job-name=skill-evals-merge --output=artifacts/skill-evals/slurm-%j.log
skill-evals merge "$RUN" --run-id "$RUN" || [ $? = 3 ] || exit 2
skill-evals summary "$RUN"
JOB
)
printf %s ", then merge job ${merge%%;*}; its results: artifacts/skill-evals/slurm-${merge%%;*}.log"
