# What the pages speak of, in a clone that has the skills `pdf`, `docx` and `greeting`: more skills, cases, runs, recordings.
set -e

# A skill and its description.
skill() {
  mkdir -p "skills/$1"
  printf -- '---\nname: %s\ndescription: %s\n---\n\nDo it.\n' "$1" "$2" > "skills/$1/SKILL.md"
}

# A skill and the ids of its cases. The agent activates each skill that a prompt names.
cases() {
  skill=$1
  shift
  mkdir -p "evals/skills/$skill"
  {
    echo id,should_trigger,prompt
    for id; do echo "$id,true,Use the $skill skill for $id."; done
  } > "evals/skills/$skill/prompts.csv"
}

skill my-skill 'Counts beans, as my-skill does.'
skill xlsx 'Adds up the columns of a sheet. Use it for sums.'
skill invoices 'Sums up what a customer owes. Use it for bills.'
skill release-notes 'Tells users what changed since a version.'
cases greeting explicit implicit flags
cases pdf explicit one two three
cases docx letter
cases xlsx implicit
cases invoices report
cases release-notes two midway asks
cat > outcomes.csv <<'END'
case,side,passed,trials
invoice,without,1,10
invoice,with,9,10
minutes,without,4,10
minutes,with,5,10
END
# All in one mode, so that no other agent is needed.
cat > evals/evals.toml <<'END'
modes = ["codex"]

[prices.codex]
input = 1.25
output = 10.0

[lint]
allow = [{ rule = "no-negative", reason = "few cases are enough here" }]

[agents.mine]
protocol = "acp"
command = "mine"
skills = ".agents/skills"
END
mkdir -p evals/tasks skills/greeting/evals
cat > skills/greeting/evals/evals.json <<'END'
{"skill_name": "greeting", "evals": [{"id": 1, "prompt": "Use the greeting skill now.", "should_trigger": true}]}
END
cat > evals/tasks/greeting.json <<'END'
{"prompt": "Use the greeting skill.", "evalConfig": {"expectedSkillName": "greeting"}}
END
printf 'trial,pass\ngreeting/explicit/codex,true\ngreeting/implicit/codex,false\n' > labels.csv
echo 'Fills forms in a pdf. Use it when a pdf is at hand.' | tee new-description.txt > a.txt
echo 'Fills and merges each pdf.' > b.txt
git branch --quiet -M main
git add --all
git commit --quiet --message Skills
git tag v1.2
echo 'Say their names.' >> skills/greeting/SKILL.md
git commit --quiet --all --message Greeting
git push --quiet origin main

git checkout --quiet -b change
echo 'Say which fields you filled.' >> skills/pdf/SKILL.md
git commit --quiet --all --message Change

# In this run the agent does not see what one prompt names.
cp ../bin/codex ../codex
sed -i '/^prompt=\$previous/s/.*/prompt=$(echo "$previous" | sed s,greeting.skill.for.flags,it,)/' ../bin/codex
skill-evals run --quiet --run-id RUN-ID greeting > log && exit 1
mv ../codex ../bin/codex
for id in monday friday mon tue wed thu other-shard A B C OTHER ID; do
  skill-evals run --quiet --run-id $id greeting/explicit greeting/implicit > log
done
(
  cd artifacts/skill-evals
  cp -r RUN-ID nightly
  cp monday/progress.jsonl ../../evals/baseline.jsonl
)
skill-evals run --quiet --run-id RUN greeting release-notes > log
skill-evals record RUN greeting > log
rm log
